//! One chart of all figures that have a goal: how close each came to it, on a logarithmic scale.

use std::fmt::Write as _;

use super::figures::{Figure, Report, number, short};

const WIDTH: f64 = 1_040.0;
const LABEL: f64 = 420.0;
const ROW: f64 = 22.0;
const TOP: f64 = 44.0;
/// The ends of the scale: a tenth of the goal, ten times the goal.
const ENDS: (f64, f64) = (0.1, 10.0);

/// The place of a value between the ends.
fn place(reached: f64) -> f64 {
    let (low, high) = (ENDS.0.ln(), ENDS.1.ln());
    LABEL + (WIDTH - LABEL - 120.0) * ((reached.clamp(ENDS.0, ENDS.1).ln() - low) / (high - low))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Draws the chart.
pub(super) fn draw(reports: &[Report]) -> String {
    let mut figures: Vec<(&Figure, f64)> =
        reports.iter().flat_map(|report| &report.figures).filter_map(|figure| Some((figure, figure.reached()?))).collect();
    figures.sort_by_key(|(figure, _)| number(figure));
    let rows = u32::try_from(figures.len()).unwrap();
    let height = TOP + ROW * f64::from(rows) + 12.0;
    let goal = place(1.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{goal}\" y=\"20\" text-anchor=\"middle\">goal</text>\n\
         <text x=\"{LABEL}\" y=\"20\">a tenth</text><text x=\"{}\" y=\"20\" text-anchor=\"middle\">ten times</text>\n",
        place(ENDS.1)
    );
    let mut y = TOP;
    for (figure, reached) in figures {
        let colour = if reached >= 1.0 { "#2f7d4f" } else { "#b3502d" };
        writeln!(
            svg,
            "<text x=\"8\" y=\"{}\">{} {}</text><rect x=\"{LABEL}\" y=\"{}\" width=\"{:.1}\" height=\"14\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{}\">{} {}</text>",
            y,
            figure.workload,
            escaped(&figure.what),
            y - 11.0,
            place(reached) - LABEL + 1.0,
            place(reached) + 8.0,
            y,
            short(figure.median()),
            escaped(&figure.unit),
        )
        .unwrap();
        y += ROW;
    }
    writeln!(
        svg,
        "<line x1=\"{goal}\" x2=\"{goal}\" y1=\"26\" y2=\"{height}\" stroke=\"#333\" stroke-dasharray=\"3 3\"/>\n</svg>"
    )
    .unwrap();
    svg
}
