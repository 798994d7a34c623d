//! Pages of whole files.

use std::path::Path;

use expect_test::expect;
use nyala_doc::{Outcome, Outcomes, SourceText, document};
use nyala_span::SourceMap;

/// The page and the chapter about one text.
fn documents(text: &str, outcomes: &Outcomes) -> (String, String) {
    let mut sources = SourceMap::default();
    let id = sources.add("lib/powers.impala", text).expect("it is small");
    let ast = nyala_syntax::parse(sources.file(id)).file;
    let document = document("powers", &[SourceText { ast: &ast, source: sources.file(id), module: "" }]);
    (document.html(outcomes), document.chapter())
}

/// What a page says, without its style and its search.
fn body(page: &str) -> &str {
    let (_, body) = page.split_once("<main>\n").expect("it has one");
    body.split_once("</main>").expect("it ends").0
}

const POWERS: &str = "//! Powers of numbers.

/// A number with its exponent.
struct Power {
    base: i32, // plain
    /// Is **not** negative.
    exponent: i32
}

/// Computes a `Power`.
///
/// ```
/// print_i32(power(Power { base: 2, exponent: 3 }));
/// ```
fn @(?p.exponent) power(p: Power) -> i32 {
    1
}

#[test]
fn check() -> () {}
";

#[test]
fn a_page_has_declarations_filters_comments_output_and_source() {
    let at = 1 + POWERS.find("```").expect("it has an example") as u32 - "/// ".len() as u32;
    let outcomes = Outcomes::from([(at, Outcome::Output("8\n".into()))]);
    expect![[r##"
        <h1>powers</h1>
        <section id="file-powers">
        <div class="docs">
        <p>Powers of numbers.</p>
        </div>
        <article>
        <div class="entry" id="Power" data-name="Power">
        <h3><a href="#Power" aria-label="Link to Power">#</a><pre><code><i class="k">struct</i> <b>Power</b> { base: i32, exponent: i32 }</code></pre></h3>
        </div>
        <div class="docs">
        <p>A number with its exponent.</p>
        </div>
        <dl>
        <dt><code>exponent</code></dt><dd><p>Is <strong>not</strong> negative.</p>
        </dd>
        </dl>
        </article>
        <article>
        <div class="entry" id="power" data-name="power">
        <h3><a href="#power" aria-label="Link to power">#</a><pre><code><i class="k">fn</i> @(?p.exponent) <b>power</b>(p: <a href="#Power">Power</a>) -&gt; i32</code></pre></h3>
        <p class="filter">Specialized when <code>p.exponent</code> is known.</p>
        <details class="source"><summary>Source, line 15</summary><pre><code><i class="k">fn</i> @(?p.exponent) <a href="#power">power</a>(p: <a href="#Power">Power</a>) -&gt; i32 {
            <i class="n">1</i>
        }</code></pre></details>
        </div>
        <div class="docs">
        <p>Computes a <a href="#Power"><code>Power</code></a>.</p>
        <pre class="example"><code>print_i32(<a href="#power">power</a>(<a href="#Power">Power</a> { base: <i class="n">2</i>, exponent: <i class="n">3</i> }));</code></pre>
        <pre class="output"><samp>8</samp></pre>
        </div>
        </article>
        </section>
        <p id="nothing" hidden>Nothing is found.</p>
    "##]].assert_eq(body(&documents(POWERS, &outcomes).0));
}

#[test]
fn a_chapter_has_the_contents_of_the_page_in_markdown() {
    expect![[r#"
        <!-- Generated from the sources; do not edit. -->

        # powers

        ## `powers`

        Powers of numbers.

        ```impala,signature
        struct Power { base: i32, exponent: i32 }
        ```

        A number with its exponent.

        - `exponent`: Is **not** negative.

        ```impala,signature
        fn @(?p.exponent) power(p: Power) -> i32
        ```

        Computes a `Power`.

        ```
        print_i32(power(Power { base: 2, exponent: 3 }));
        ```

        Specialized when `p.exponent` is known.
    "#]]
    .assert_eq(&documents(POWERS, &Outcomes::new()).1);
}

#[test]
fn plain_comments_are_about_all_declarations_up_to_an_empty_line() {
    let text = "// Memory.\n\n// Makes some.\nfn @a() -> () {}\nfn @b() -> () {}\n\nfn c() -> () {}\n";
    expect![[r#"
        <!-- Generated from the sources; do not edit. -->

        # powers

        ## `powers`

        Memory.

        ```impala,signature
        fn @a() -> ()
        fn @b() -> ()
        ```

        Makes some.

        Specialized at every call.

        ```impala,signature
        fn c() -> ()
        ```
    "#]]
    .assert_eq(&documents(text, &Outcomes::new()).1);
}

#[test]
fn a_page_refers_to_nothing_outside() {
    let (page, _) = documents(POWERS, &Outcomes::new());
    for outside in ["src=", "<link", "@import", "url(", "http"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// All Impala files below a folder of the repository.
fn impala_files(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("it is part of the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            impala_files(&path, found);
        } else if path.extension().is_some_and(|end| end == "impala") {
            found.extend(std::fs::read_to_string(&path));
        }
    }
}

#[test]
fn every_text_gives_a_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = vec![];
    for folder in ["lib", "tests/check/reject", "crates/nyala-syntax/tests/corpus"] {
        impala_files(&root.join(folder), &mut texts);
    }
    assert!(texts.len() > 100, "{}", texts.len());
    for text in &texts {
        documents(text, &Outcomes::new());
        // Cut off, and without a piece, the text is malformed in other ways.
        let third = text.floor_char_boundary(text.len() / 3);
        let half = text.floor_char_boundary(text.len() / 2);
        for broken in [text[..half].to_owned(), format!("{}{}", &text[..third], &text[half..])] {
            documents(&broken, &Outcomes::new());
        }
    }
}

#[test]
fn large_and_deep_texts_give_a_page() {
    let deep = format!("{}{}", "mod m { ".repeat(10_000), "}".repeat(10_000));
    let wide = "/// `[*\nfn f() -> () {}\n".repeat(5_000);
    let long = format!("/// {}\nfn @({} ?x) f(x: i32) -> () {{}}", "[".repeat(100_000), "!".repeat(10_000));
    for text in [deep, wide, long] {
        documents(&text, &Outcomes::new());
    }
}

#[test]
fn names_that_pub_use_exports_are_documented() {
    let text = "mod m { fn f() -> i32 { 1 } fn g() -> i32 { 2 } }
use m::f as own;
/// Twice.
pub use m::{ f, g as h };
pub use m::*;
";
    let (page, _) = documents(text, &Outcomes::new());
    for part in [
        "data-name=\"f\"",
        "data-name=\"h\"",
        "data-name=\"m::*\"",
        "<a href=\"#m::g\">g</a>",
        "<p>Twice.</p>",
    ] {
        assert!(body(&page).contains(part), "{part}: {}", body(&page));
    }
    assert!(!body(&page).contains("own"));
}
