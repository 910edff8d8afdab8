//! The dashboard of jobkit: the place for it. There is nothing here yet.
