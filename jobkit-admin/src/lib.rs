//! The dashboard of jobkit.
