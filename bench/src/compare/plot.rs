//! Bars as SVG, readable on light and on dark ground.

use std::fmt::Write as _;

use super::record::Spread;
use super::report::number;

/// Who a bar stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tone {
    Ours,
    Peer,
    Reference,
}

/// The median as a bar, the least and the greatest as a line over it.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) name: &'static str,
    pub(crate) spread: Spread,
    pub(crate) tone: Tone,
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 190.0;
/// Where the greatest value ends; the figures stand to the right of it.
const LENGTH: f64 = 460.0;
const ROW: f64 = 26.0;
const TOP: f64 = 52.0;

const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.unit, .spread { fill: #59636e }
.ours { fill: #0969da } .peer { fill: #8c959f } .reference { fill: #bf8700 }
.whisker { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .unit, .spread { fill: #9198a1 }
  .ours { fill: #4493f8 } .peer { fill: #656c76 } .reference { fill: #d29922 }
  .whisker { stroke: #f0f6fc }
}";

/// One plot.
pub(crate) fn bars(title: &str, unit: &str, digits: usize, bars: &[Bar]) -> String {
    let greatest = bars.iter().map(|bar| bar.spread.greatest).fold(f64::MIN_POSITIVE, f64::max);
    let scale = |value: f64| value.max(0.0) / greatest * LENGTH;
    let height = TOP + ROW * bars.len() as f64 + 10.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         aria-label=\"{0}\">\n<style>{STYLE}</style>\n\
         <text class=\"title\" x=\"10\" y=\"20\">{0}</text>\n\
         <text class=\"unit\" x=\"10\" y=\"38\">{1}: median, least to greatest</text>\n",
        escaped(title),
        escaped(unit)
    );
    for (place, bar) in bars.iter().enumerate() {
        let y = TOP + ROW * place as f64;
        row(&mut svg, bar, y, scale, digits).unwrap_or_default();
    }
    svg + "</svg>\n"
}

fn row(
    svg: &mut String,
    Bar { name, spread, tone }: &Bar,
    y: f64,
    scale: impl Fn(f64) -> f64,
    digits: usize,
) -> std::fmt::Result {
    let class = match tone {
        Tone::Ours => "ours",
        Tone::Peer => "peer",
        Tone::Reference => "reference",
    };
    let (middle, base) = (y + ROW / 2.0, y + ROW / 2.0 + 4.5);
    let (least, greatest) = (LEFT + scale(spread.least), LEFT + scale(spread.greatest));
    let (edge, end) = (LEFT - 8.0, greatest + 8.0);
    let (width, thick) = (scale(spread.median).max(1.0), ROW - 8.0);
    writeln!(svg, "<text x=\"{edge}\" y=\"{base}\" text-anchor=\"end\">{}</text>", escaped(name))?;
    writeln!(
        svg,
        "<rect class=\"{class}\" x=\"{LEFT}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{thick}\" \
         rx=\"2\"/>",
        y + 4.0
    )?;
    writeln!(
        svg,
        "<path class=\"whisker\" d=\"M{least:.1} {middle}H{greatest:.1}\"/>\n\
         <text x=\"{end:.1}\" y=\"{base}\">{}</text>",
        number(spread.median, digits)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_fits_with_its_figure() {
        let spread = |median| Spread { least: median, median, greatest: median };
        let bar = |name, median| Bar { name, spread: spread(median), tone: Tone::Peer };
        let svg = bars("a < b", "jobs/s", 0, &[bar("one", 50.0), bar("two", 100_000.0)]);
        assert!(svg.contains("width=\"460.0\"") && svg.contains(">100,000</text>"), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.matches("<rect").count() == 2, "{svg}");
    }
}
