//! Filters of the user, in an Impala file or in the library of a package: functions whose result is a `Stencil[f32, f32]`, and whose parameters have
//! the types `f32` and `i32`. Comments before a function describe it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use nyala_driver::package::{MANIFEST, Manifest};
use nyala_span::{SourceFile, SourceMap, Span};
use nyala_syntax::ast::{self as syntax, FnItem, Item, ItemKind, Ret, Vis};

use crate::filters::{Param, float, int};

/// The files and packages of the user, and their filters.
#[derive(Default)]
pub struct Own {
    pub files: Vec<PathBuf>,
    packages: Vec<PathBuf>,
    pub filters: Vec<OwnFilter>,
}

/// A filter of the user.
#[derive(PartialEq, Debug)]
pub struct OwnFilter {
    /// Its name in a chain, which is that of the function.
    pub name: String,
    pub about: String,
    /// The path of the function in Impala.
    path: String,
    params: Vec<OwnParam>,
}

#[derive(PartialEq, Debug)]
struct OwnParam {
    name: String,
    is_whole: bool,
}

impl Own {
    /// Finds the filters of files and of folders with packages.
    pub fn read(places: &[PathBuf]) -> Result<Own> {
        let mut own = Own::default();
        for place in places {
            let before = own.filters.len();
            let path = place.canonicalize().with_context(|| format!("`{}`", place.display()))?;
            if path.is_dir() {
                let prefix = format!("{}::", name_of_package(&path)?);
                for file in sources(&path.join("src"))? {
                    own.filters.extend(filters_of(&file, &prefix)?);
                }
                own.packages.push(path);
            } else {
                own.filters.extend(filters_of(&path, "")?);
                own.files.push(path);
            }
            if own.filters.len() == before {
                bail!("`{}` has no filter: a function with the result `Stencil[f32, f32]`", place.display());
            }
        }
        Ok(own)
    }

    /// The libraries of a program with these filters.
    pub fn uses(&self) -> String {
        let packages = self.packages.iter().map(|path| format!(", {}", path.display()));
        std::iter::once("stencil".to_owned()).chain(packages).collect()
    }
}

impl OwnFilter {
    /// Its parameters, which have no defaults.
    pub fn params(&self) -> Vec<Param<'_>> {
        let (min, max) = (f64::from(i32::MIN), f64::from(i32::MAX));
        let params = self.params.iter();
        params
            .map(|OwnParam { name, is_whole }| Param {
                name,
                default: None,
                min,
                max,
                is_whole: *is_whole,
                about: "",
            })
            .collect()
    }

    /// The filter in Impala for these values of its parameters.
    pub fn code(&self, values: &[f64]) -> String {
        let literal =
            |(param, &value): (&OwnParam, &f64)| if param.is_whole { int(value) } else { float(value) };
        let values: Vec<String> = self.params.iter().zip(values).map(literal).collect();
        format!("applied({}({}))", self.path, values.join(", "))
    }
}

/// The name in the manifest of a package.
fn name_of_package(folder: &Path) -> Result<String> {
    // A program lists the folders of its libraries in a line, between commas.
    ensure!(
        !folder.to_string_lossy().contains([',', '\n']),
        "`{}` has a comma in its path",
        folder.display()
    );
    let path = folder.join(MANIFEST);
    let text = fs::read_to_string(&path).with_context(|| format!("`{}`", path.display()))?;
    let mut sources = SourceMap::default();
    let id = sources.add(path.display().to_string(), text)?;
    let mut errors = vec![];
    let manifest = Manifest::parse(sources.file(id), &mut errors);
    let reason = || errors.first().map_or(String::new(), |error| error.message.clone());
    Ok(manifest.with_context(reason).with_context(|| format!("`{}`", path.display()))?.name.value)
}

/// The Impala files of a folder, sorted.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![];
    for entry in fs::read_dir(folder).with_context(|| format!("`{}`", folder.display()))? {
        let path = entry.with_context(|| format!("`{}`", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "impala") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The filters of a file, whose functions have paths with this prefix. Errors in the text are reported when a program is compiled.
fn filters_of(path: &Path, prefix: &str) -> Result<Vec<OwnFilter>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let mut sources = SourceMap::default();
    let id = sources.add(path.display().to_string(), text)?;
    let file = sources.file(id);
    let filter = |item: &Item| match &item.kind {
        ItemKind::Fn(function) if item.vis != Some(Vis::Priv) => {
            let before = &file.text[..file.local(item.span).start];
            filter_of(function, file, comment_at_end(before), prefix)
        }
        _ => None,
    };
    Ok(nyala_syntax::parse(file).file.items.iter().filter_map(filter).collect())
}

/// The filter that a function is, if it is one.
fn filter_of(function: &FnItem, file: &SourceFile, about: String, prefix: &str) -> Option<OwnFilter> {
    let text_of = |span: Span| &file.text[file.local(span)];
    let Some(Ret::Type(result)) = &function.ret else { return None };
    if text_of(result.span).replace(' ', "") != "Stencil[f32,f32]" {
        return None;
    }
    let param = |param: &syntax::Param| {
        let (name, ty) = text_of(param.span).split_once(':')?;
        let is_whole = match ty.trim() {
            "i32" => true,
            "f32" => false,
            _ => return None,
        };
        Some(OwnParam { name: name.trim().trim_start_matches(['@', '?']).to_owned(), is_whole })
    };
    let name = text_of(function.name.span).to_owned();
    let params = function.params.iter().map(param).collect::<Option<Vec<OwnParam>>>()?;
    Some(OwnFilter { about, path: format!("{prefix}{name}"), name, params })
}

/// The comment lines at the end of a text, without those for the compiler.
fn comment_at_end(text: &str) -> String {
    let comment = |line: &'_ str| {
        let text = line.trim().strip_prefix("//")?.trim_start_matches('/').trim();
        (!text.starts_with("uses:") && !text.starts_with("edition:")).then(|| text.to_owned())
    };
    let mut lines: Vec<String> =
        text.trim_end_matches([' ', '\t']).lines().rev().map_while(comment).collect();
    lines.reverse();
    lines.join(" ")
}
