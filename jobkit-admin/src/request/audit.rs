//! The audit entries that a request selects.

use jobkit::admin::audit::AuditFilter;

use super::fields::Fields;
use crate::format::show;

/// The fields of the filter, with their labels.
pub(crate) const FIELDS: [(&str, &str); 5] = [
    ("actor", "Who"),
    ("action", "Action"),
    ("subject", "Subject"),
    ("id", "with id"),
    ("name", "named"),
];

/// The filter that the query describes.
pub(crate) fn filter(request: &Fields) -> AuditFilter {
    FIELDS.iter().fold(AuditFilter::all(), |filter, (name, _)| match (*name, request.query(name)) {
        ("actor", Some(actor)) => filter.actor(actor),
        ("action", Some(action)) => filter.action(action),
        ("subject", Some(subject)) => filter.subject(subject),
        ("id", Some(id)) => id.parse().map_or(filter.clone(), |id| filter.id(id)),
        ("name", Some(name)) => filter.name(name),
        _ => filter,
    })
}

/// The query for the page after this entry.
pub(crate) fn next(request: &Fields, after: i64) -> String {
    let field = |(name, _): (&str, _)| {
        request.query(name).map(|value| format!("&{name}={}", show::url(value)))
    };
    let fields: String = FIELDS.into_iter().filter_map(field).collect();
    format!("after={after}{fields}")
}
