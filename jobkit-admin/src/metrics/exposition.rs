//! Formats for monitoring: Prometheus's text format, or OpenMetrics for clients that ask for it.

use std::fmt::Write;

/// The type of a family. The name of a counter must end in `_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Counter,
    Gauge,
    Histogram,
}

/// The two formats. They differ in the name of a counter's family and in how they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// The format that a header prefers (RFC 9110, 12.5.1): OpenMetrics only if it is named.
    pub(super) fn of(accept: &str) -> Self {
        let ranges: Vec<_> = accept.split(',').filter_map(range).collect();
        let best = |name: &str| {
            let named = ranges.iter().filter(|(kind, _)| kind == name).map(|(_, quality)| *quality);
            named.reduce(f32::max)
        };
        let plain = best("text/plain").or(best("text/*")).or(best("*/*")).unwrap_or(0.0);
        match best("application/openmetrics-text") {
            Some(open) if open > 0.0 && open >= plain => Self::OpenMetrics,
            _ => Self::Prometheus,
        }
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A media range that we can answer, and its quality. For OpenMetrics that is version 1.
fn range(item: &str) -> Option<(String, f32)> {
    let mut parts = item.split(';').map(|part| part.trim().to_ascii_lowercase());
    let (kind, mut quality) = (parts.next()?, 1.0);
    for parameter in parts {
        match parameter.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("q", value)) => quality = value.parse().unwrap_or(0.0),
            Some(("version", version)) if kind == "application/openmetrics-text" => {
                version.trim_matches('"').starts_with("1.").then_some(())?;
            }
            _ => {}
        }
    }
    Some((kind, quality))
}

/// A page of families, each with its samples.
pub(super) struct Exposition {
    format: Format,
    page: String,
}

impl Exposition {
    pub(super) fn new(format: Format) -> Self {
        Self { format, page: String::new() }
    }

    /// Begins a family; its samples follow. `name` is that of its samples, without the suffixes of
    /// a histogram.
    pub(super) fn family(&mut self, name: &str, kind: Type, help: &str) {
        let family = match (self.format, kind) {
            (Format::OpenMetrics, Type::Counter) => name.trim_end_matches("_total"),
            _ => name,
        };
        let word = match kind {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        };
        let about = [("HELP", help), ("TYPE", word)];
        for (what, text) in about {
            self.page.extend(["# ", what, " jobkit_", family, " ", text, "\n"]);
        }
    }

    pub(super) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.page.extend(["jobkit_", name]);
        for (at, (label, text)) in labels.iter().enumerate() {
            self.page.extend([if at == 0 { "{" } else { "," }, label, "=\""]);
            self.escaped(text);
            self.page.push('"');
        }
        let end = if labels.is_empty() { " " } else { "} " };
        self.page.push_str(end);
        writeln!(self.page, "{value}").unwrap_or_default();
    }

    /// A label's value. The formats only escape backslashes, quotes and line feeds.
    fn escaped(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\\' => self.page.push_str("\\\\"),
                '"' => self.page.push_str("\\\""),
                '\n' => self.page.push_str("\\n"),
                c => self.page.push(c),
            }
        }
    }

    /// The page, whole.
    pub(super) fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.page.push_str("# EOF\n");
        }
        self.page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_for_those_who_ask_for_it() {
        for line in [
            "application/openmetrics-text",
            "Application/OpenMetrics-Text; version=1.0.0; charset=utf-8",
            "application/openmetrics-text;version=\"1.0.0\"",
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
             version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "text/plain;q=0.2, application/openmetrics-text;q=0.3",
            "application/openmetrics-text;q=0.5, */*;q=0.1",
            "application/openmetrics-text;q=0.5, text/plain;q=0, */*",
        ] {
            assert_eq!(Format::of(line), Format::OpenMetrics, "{line}");
        }
        for line in [
            "",
            "*/*",
            "text/html, application/xhtml+xml, */*;q=0.8",
            "text/plain;version=0.0.4",
            "application/*",
            "application/openmetrics-text;q=0",
            "application/openmetrics-text;q=0.3, text/plain;q=0.5",
            "application/openmetrics-text;q=0.3, text/*;q=0.5",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=no",
        ] {
            assert_eq!(Format::of(line), Format::Prometheus, "{line}");
        }
    }

    #[test]
    fn each_format_names_a_counter_as_its_readers_expect() {
        let page = |format| {
            let mut page = Exposition::new(format);
            page.family("a_total", Type::Counter, "How many");
            page.sample("a_total", &[("b", "\\\"\n\u{2028}"), ("c", "")], 1.5);
            page.sample("a_total", &[], 2.0);
            page.finish()
        };
        let samples = "jobkit_a_total{b=\"\\\\\\\"\\n\u{2028}\",c=\"\"} 1.5\njobkit_a_total 2\n";
        assert_eq!(
            page(Format::Prometheus),
            format!("# HELP jobkit_a_total How many\n# TYPE jobkit_a_total counter\n{samples}")
        );
        assert_eq!(
            page(Format::OpenMetrics),
            format!("# HELP jobkit_a How many\n# TYPE jobkit_a counter\n{samples}# EOF\n")
        );
    }
}
