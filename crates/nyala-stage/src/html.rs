//! A page that shows an evaluation step by step: what was active, what was evaluated, and what it left.
//!
//! Each step is the text of the whole program with marks. The page needs no network, and its script only switches
//! between steps.

use std::fmt::Write as _;

use nyala_span::SourceMap;

use crate::machine::{Machine, StepEvent};
use crate::print::lines;
use crate::trace;

/// The maximum number of steps on a page.
const MAX_STEPS: usize = 2_000;

/// The maximum size of a page, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// A page in progress.
pub struct Page {
    title: String,
    steps: String,
    n_steps: usize,
    n_left_out: usize,
}

impl Page {
    /// A page without steps.
    pub fn new(title: &str) -> Page {
        Page { title: title.into(), steps: String::new(), n_steps: 0, n_left_out: 0 }
    }

    /// Adds a step.
    pub fn step(&mut self, event: &StepEvent, machine: &Machine, sources: &SourceMap) {
        if self.n_steps >= MAX_STEPS || self.steps.len() > MAX_BYTES {
            self.n_left_out += 1;
            return;
        }
        self.n_steps += 1;
        let (code, origins) = machine.snapshot();
        let hidden = if self.n_steps == 1 { "" } else { " hidden" };
        let _ = write!(
            self.steps,
            "<section{hidden}><p class=rule>{}</p><pre>",
            escaped(trace::line(event, sources).trim())
        );
        for line in lines(&code) {
            let body = line.body.map(|body| origins[body.0 as usize]);
            let class = match body {
                Some(body) if body == event.body => "new",
                Some(body) if event.activated.contains(&body) => "woken",
                Some(body) if machine.is_active(body) => "active",
                _ => "",
            };
            let text = escaped(&format!("{:width$}{}", "", line.text, width = 2 * line.indent));
            let _ = match class {
                "" => writeln!(self.steps, "{text}"),
                class => writeln!(self.steps, "<b class={class}>{text}</b>"),
            };
        }
        self.steps += "</pre></section>\n";
    }

    /// The page.
    pub fn finish(self) -> String {
        let Page { title, steps, n_steps, n_left_out } = self;
        let left_out = match n_left_out {
            0 => String::new(),
            count => format!("<p>{count} further steps are left out.</p>"),
        };
        let last = n_steps.saturating_sub(1);
        format!("{HEAD}<title>Staging of {title}</title>\n<h1>Staging of {title}</h1>\n{CONTROLS}{left_out}<main>\n{steps}</main>\n{SCRIPT}", title = escaped(&title))
            .replace("LAST", &last.to_string())
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const HEAD: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #222; background: #fff }
h1 { font-size: 1.3rem }
nav { position: sticky; top: 0; background: inherit; padding: .5rem 0; display: flex; gap: .6rem; align-items: center; border-bottom: 1px solid #ccc }
nav input { flex: 1 }
pre { font: 13px/1.45 ui-monospace, monospace; overflow-x: auto }
pre b { display: inline-block; min-width: 100%; font-weight: normal; margin-bottom: -1.45em; padding-bottom: 0 }
.rule { font-family: ui-monospace, monospace; font-weight: 600; min-height: 1.5em }
.new { background: #cfe8cf } .woken { background: #ffe2a8 } .active { background: #fff3d6 }
.legend span { padding: 0 .4rem; margin-right: .6rem }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #181818 } .new { background: #24502a } .woken { background: #6b4b00 } .active { background: #3c3010 } }
</style>
"#;

const CONTROLS: &str = r#"<p class="legend"><span class="new">the result of the step</span><span class="woken">became active in this step</span><span class="active">active, evaluated later</span></p>
<nav><button id="back">&larr;</button><input id="at" type="range" min="0" max="LAST" value="0" aria-label="step"><button id="forth">&rarr;</button><output id="shown"></output></nav>
"#;

const SCRIPT: &str = r#"<script>
const sections = document.querySelectorAll("section"), at = document.getElementById("at");
function show(step) {
  const next = Math.max(0, Math.min(sections.length - 1, step));
  sections.forEach((section, index) => section.hidden = index !== next);
  at.value = next;
  document.getElementById("shown").textContent = sections.length ? (next + 1) + " / " + sections.length : "no steps";
}
at.oninput = () => show(+at.value);
document.getElementById("back").onclick = () => show(+at.value - 1);
document.getElementById("forth").onclick = () => show(+at.value + 1);
document.onkeydown = event => {
  if (event.target === at) return;
  if (event.key === "ArrowRight") show(+at.value + 1);
  if (event.key === "ArrowLeft") show(+at.value - 1);
};
show(+(location.hash.slice(1) || 0));
</script>
"#;
