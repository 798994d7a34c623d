//! The preludes declare the names and types that `tests/editions` lists.
//!
//! A row of such a table is a name, its type and, if it differs, its link name. Published programs rely on
//! each of them. `BLESS=1` updates the tables.

use nyala_driver::{Edition, Options, Prelude, Report, Session, pipeline};
use nyala_sema::tree::{Linkage, Program};
use nyala_sema::types::{Ty, TyParam};
use nyala_tests::{files, snapshot};

#[test]
fn editions_declare_the_listed_names() {
    for name in ["2018", "2019", "impala", "artic"] {
        let edition = Edition::from_name(name).expect("it is an edition");
        let prelude = Prelude::Edition(edition);
        let mut session = Session::new(Options { prelude, whole_prelude: true, ..Options::default() });
        session.add_text("main.impala", "");
        let program = pipeline::check(&mut session);
        let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
        let program = program.unwrap_or_else(|| panic!("{name}:\n{report}"));
        let table = files::repository().join(format!("tests/editions/{name}.tsv"));
        snapshot::compare(&table, &rows(&program))
            .unwrap_or_else(|difference| panic!("{name}: {difference}"));
    }
}

/// The items of a prelude, sorted by name.
fn rows(program: &Program) -> String {
    let mut rows = vec![];
    for function in program.fns.values().filter(|function| function.parent.is_none()) {
        let ty = shown(program, function.ty).replacen(
            "fn",
            &format!("fn{}", generics(program, &function.tparams)),
            1,
        );
        rows.push(match function.linkage {
            Linkage::Import { symbol, .. } if symbol != function.name => {
                format!("{}\t{ty}\t{symbol}", function.name)
            }
            _ => format!("{}\t{ty}", function.name),
        });
    }
    for it in program.statics.values() {
        rows.push(format!("{}\tstatic {}", it.name, shown(program, it.ty)));
    }
    for it in program.structs.values() {
        let field = |field: &nyala_sema::tree::Field| format!("{}: {}", field.name, shown(program, field.ty));
        let fields: Vec<String> = it.fields.iter().map(field).collect();
        let generics = generics(program, &it.tparams);
        rows.push(format!("{}\tstruct{generics} {{ {} }}", it.name, fields.join(", ")));
    }
    rows.sort();
    rows.join("\n") + "\n"
}

fn shown(program: &Program, ty: Ty) -> String {
    program.types.display(ty).to_string()
}

fn generics(program: &Program, params: &[TyParam]) -> String {
    let names: Vec<&str> = params.iter().map(|&param| program.types.params[param].name.as_str()).collect();
    if names.is_empty() { String::new() } else { format!("[{}]", names.join(", ")) }
}
