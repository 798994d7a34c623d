//! The preludes declare the names and types that `tests/editions` lists.
//!
//! A row of such a table is a name, its type and, if it differs, its link name. `BLESS=1` updates the tables.
//!
//! `published.tsv` has the names that published programs find in the preludes that they were written against: name,
//! type, link name and the editions. The result of a function without a written one is `_`. Each row holds in its
//! editions, but for [`DIFFERENT`].

use std::collections::{HashMap, HashSet};

use nyala_driver::{Edition, Options, Prelude, Report, Session, pipeline};
use nyala_sema::tree::{Linkage, Program};
use nyala_sema::types::{Ty, TyParam};
use nyala_tests::{files, snapshot};

const EDITIONS: [&str; 4] = ["2018", "2019", "impala", "artic"];

/// Names that are declared in another way than in the original preludes, and why programs do not notice.
const DIFFERENT: &[(&str, &[&str])] = &[
    (
        "it is a function with a body there, and declared here",
        &[
            "cuda_clock",
            "cuda_clock64",
            "cuda_globaltimer",
            "cuda_laneid",
            "cuda_lanemask",
            "cuda_lanemask_ge",
            "cuda_lanemask_gt",
            "cuda_lanemask_le",
            "cuda_lanemask_lt",
            "cuda_nsmid",
            "cuda_nwarpid",
            "cuda_smid",
            "cuda_vprintf",
            "cuda_warpid",
            "nvptx_ldg4_f32",
            "nvptx_ldg4_i32",
            "nvptx_ldg_f32",
            "nvptx_ldg_i32",
            "nvptx_ldg_u8",
            "nvvm_clock",
            "nvvm_clock64",
            "nvvm_globaltimer",
            "nvvm_ldg4_f32",
            "nvvm_ldg4_i32",
            "nvvm_ldg_f32",
            "nvvm_ldg_i32",
            "nvvm_ldg_u8",
            "nvvm_nanosleep",
            "nvvm_popcount",
            "nvvm_trap",
            "nvvm_warp_activemask",
        ],
    ),
    ("`&mut` is `&` as well", &["runtime_alloc", "runtime_alloc_host", "runtime_alloc_unified"]),
    ("it takes `&`, so `&mut` as well", &["runtime_copy"]),
    ("the devices of Level Zero are used through OpenCL", &["levelzero", "opencl_spirv"]),
    ("inputs of SPIR-V modules; kernels are OpenCL C here, whose functions the accelerators call", SPIRV),
    (
        "the operation takes an angle in turns, of `f32` or `f16` only",
        &["amdgcn_cos", "amdgcn_cosf", "amdgcn_sin", "amdgcn_sinf"],
    ),
    ("NVIDIA's GPUs have no such operation of `f64`", &["nvvm_ex2_approx_d"]),
    ("LLVM has called it `llvm.prefetch.p0` since 2019", &["cpu_prefetch"]),
    ("nested in another function, so no program can name it", &["loop"]),
];

const SPIRV: &[&str] = &[
    "spirv_get_builtin",
    "spv_cl_get_global_id",
    "spv_cl_get_global_size",
    "spv_cl_get_group_id",
    "spv_cl_get_local_id",
    "spv_cl_get_local_size",
    "spv_cl_get_num_groups",
    "spv_levelzero_get_global_id",
    "spv_levelzero_get_global_size",
    "spv_levelzero_get_group_id",
    "spv_levelzero_get_local_id",
    "spv_levelzero_get_local_size",
    "spv_levelzero_get_num_groups",
];

#[test]
fn editions_declare_the_listed_names() {
    for name in EDITIONS {
        let table = files::repository().join(format!("tests/editions/{name}.tsv"));
        snapshot::compare(&table, &declared(name))
            .unwrap_or_else(|difference| panic!("{name}: {difference}"));
    }
}

#[test]
fn editions_declare_what_published_programs_use() {
    let table = files::repository().join("tests/editions/published.tsv");
    let table = std::fs::read_to_string(table).expect("the table exists");
    let different: HashSet<&str> = DIFFERENT.iter().flat_map(|(_, names)| *names).copied().collect();
    let mut found_different = HashSet::new();
    let mut errors = vec![];
    for edition in EDITIONS {
        let declared = declared(edition);
        let mut by_name: HashMap<&str, Vec<Declared>> = HashMap::new();
        for row in declared.lines() {
            let (name, declared) = Declared::parse(row);
            by_name.entry(name).or_default().push(declared);
        }
        for row in table.lines() {
            let (row, editions) = row.rsplit_once('\t').expect("the last column has the editions");
            if !editions.split(',').any(|it| it == edition) {
                continue;
            }
            let (name, expected) = Declared::parse(row);
            let candidates = by_name.get(name).map_or(&[][..], |them| them);
            if candidates.iter().any(|it| it.is(&expected)) {
                continue;
            }
            found_different.insert(name.to_string());
            if !different.contains(name) {
                errors.push(format!("{edition}: {row}"));
            }
        }
    }
    assert!(errors.is_empty(), "not declared, or in another way:\n{}", errors.join("\n"));
    let same: Vec<&&str> = different.iter().filter(|&&name| !found_different.contains(name)).collect();
    assert!(same.is_empty(), "not different any more: {same:?}");
}

/// A row of a table, without the name.
struct Declared {
    ty: String,
    link_name: String,
}

impl Declared {
    fn parse(row: &str) -> (&str, Declared) {
        let mut columns = row.split('\t');
        let name = columns.next().expect("the first column is the name");
        let ty = with_numbered_generics(columns.next().expect("the second column is the type"));
        let link_name = columns.next().filter(|link_name| !link_name.is_empty()).unwrap_or(name);
        (name, Declared { ty, link_name: link_name.to_string() })
    }

    fn is(&self, expected: &Declared) -> bool {
        let fits = match expected.ty.strip_suffix('_') {
            Some(inferred) => self.ty.starts_with(inferred),
            None if expected.ty == "static" => self.ty.starts_with("static"),
            None => self.ty == expected.ty,
        };
        fits && self.link_name == expected.link_name
    }
}

/// A type without spaces, whose type parameters are called by their numbers.
fn with_numbered_generics(ty: &str) -> String {
    let generics = ty.split_once('[').filter(|(before, _)| ["fn", "struct"].contains(before));
    let names: Vec<&str> = match generics.and_then(|(_, rest)| rest.split_once(']')) {
        Some((names, _)) => names.split(", ").collect(),
        None => vec![],
    };
    let mut new = String::new();
    for word in ty.split_inclusive(|at: char| !at.is_alphanumeric() && at != '_') {
        let text = word.trim_end_matches(|at: char| !at.is_alphanumeric() && at != '_');
        match names.iter().position(|&name| name == text) {
            Some(number) => new.push_str(&format!("T{number}{}", &word[text.len()..])),
            None => new.push_str(word),
        }
    }
    new.replace(' ', "")
}

/// The names of an edition, one in each row.
fn declared(edition: &str) -> String {
    let prelude = Prelude::Edition(Edition::from_name(edition).expect("it is an edition"));
    let mut session = Session::new(Options { prelude, whole_prelude: true, ..Options::default() });
    session.add_text("main.impala", "");
    let program = pipeline::check(&mut session);
    let report = Report::new(session.diagnostics.clone()).human(&session.sources, false);
    rows(&program.unwrap_or_else(|| panic!("{edition}:\n{report}")))
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
