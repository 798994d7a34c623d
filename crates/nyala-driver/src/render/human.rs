//! A diagnostic as text, in the style of rustc.

use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Patch, Renderer, Snippet, normalize_untrusted_str,
};
use nyala_span::{Diagnostic, FileId, Label, Severity, SourceFile, SourceMap, Suggestion};

use super::excerpt::{Excerpt, Place, group};

/// Renders one diagnostic, without a line break at the end.
pub(super) fn draw(diagnostic: &Diagnostic, sources: &SourceMap, with_color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(&diagnostic.message).id(diagnostic.code.0);
    let mut shifts = Vec::new();
    let mut main = draw_places(Group::with_title(title), diagnostic, sources, &mut shifts);
    for note in &diagnostic.notes {
        main = main.element(Level::NOTE.message(normalize_untrusted_str(note)));
    }
    let mut groups = vec![main];
    groups
        .extend(diagnostic.suggestions.iter().filter_map(|suggestion| draw_suggestion(suggestion, sources)));
    let renderer = if with_color { Renderer::styled() } else { Renderer::plain() };
    let drawing = renderer.render(&groups);
    shifts.iter().fold(drawing, |drawing, shift| drawing.replacen(&shift.drawn, &shift.real, 1))
}

/// The renderer counts columns in the excerpt. If a line is cut at the start, the column in the
/// header of the snippet must be corrected.
struct Shift {
    drawn: String,
    real: String,
}

/// Adds a snippet for each file, and for each part of a file, that has a label;
/// the one with the primary label first.
fn draw_places<'a>(
    mut drawing: Group<'a>,
    diagnostic: &'a Diagnostic,
    sources: &'a SourceMap,
    shifts: &mut Vec<Shift>,
) -> Group<'a> {
    let mut by_file: Vec<(FileId, Vec<Place<'a>>)> = Vec::new();
    let secondary = diagnostic.secondary.iter().map(|label| (label, false));
    for (label, is_primary) in std::iter::once((&diagnostic.primary, true)).chain(secondary) {
        add_place(&mut by_file, sources, label, is_primary);
    }
    for (id, places) in by_file {
        let file = sources.file(id);
        let mut parts = group(places);
        parts.sort_by_key(|part| !part.iter().any(|place| place.is_primary));
        for part in parts {
            let excerpt = Excerpt::new(file, &part);
            shifts.extend(shift(file, &part, &excerpt));
            let annotations: Vec<Annotation<'a>> =
                part.iter().map(|place| annotate(place, &excerpt)).collect();
            let snippet = Snippet::source(excerpt.text).line_start(excerpt.first_line);
            drawing = drawing.element(snippet.path(file.shown_name()).annotations(annotations));
        }
    }
    drawing
}

fn shift(file: &SourceFile, part: &[Place<'_>], excerpt: &Excerpt) -> Option<Shift> {
    let shown = part.iter().find(|place| place.is_primary).or(part.first())?;
    let at = file.line_col(file.base + shown.range.start as u32);
    let drawn_col = excerpt.column(shown.range.start);
    let head = |col| format!("{}:{}:{col}", file.shown_name(), at.line);
    (drawn_col != at.col as usize).then(|| Shift { drawn: head(drawn_col), real: head(at.col as usize) })
}

fn add_place<'a>(
    by_file: &mut Vec<(FileId, Vec<Place<'a>>)>,
    sources: &SourceMap,
    label: &'a Label,
    is_primary: bool,
) {
    let Some(id) = sources.file_of(label.span) else { return };
    let place = Place::new(sources.file(id), label, is_primary);
    match by_file.iter_mut().find(|(file, _)| *file == id) {
        Some((_, places)) => places.push(place),
        None => by_file.push((id, vec![place])),
    }
}

fn annotate<'a>(place: &Place<'a>, excerpt: &Excerpt) -> Annotation<'a> {
    let kind = if place.is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let label = (!place.message.is_empty()).then_some(place.message);
    kind.span(excerpt.locate(&place.range)).label(label)
}

fn draw_suggestion<'a>(suggestion: &'a Suggestion, sources: &'a SourceMap) -> Option<Group<'a>> {
    let id = sources.file_of(suggestion.span)?;
    let file = sources.file(id);
    let place = Place::unlabelled(file, suggestion.span);
    let excerpt = Excerpt::new(file, std::slice::from_ref(&place));
    let patch = Patch::new(excerpt.locate(&place.range), &suggestion.replacement);
    let snippet =
        Snippet::source(excerpt.text).line_start(excerpt.first_line).path(file.shown_name()).patch(patch);
    Some(Level::HELP.secondary_title(normalize_untrusted_str(&suggestion.message)).element(snippet))
}
