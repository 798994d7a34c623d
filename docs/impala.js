// Highlights Impala in the book: the language for highlight.js, which mdBook brings along.
(function () {
    "use strict";
    if (typeof hljs === "undefined") { return; }
    hljs.registerLanguage("impala", function (hljs) {
        const numberSuffix = "(?:[iu](?:8|16|32|64)?|f(?:16|32|64)?)?";
        return {
            name: "Impala",
            aliases: ["artic"],
            keywords: {
                keyword:
                    "as asm break continue else enum extern fn for if implicit in let match mod mut priv pub " +
                    "return simd static struct super package type use while with",
                literal: "true false",
                built_in: "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64",
            },
            contains: [
                { className: "meta", begin: /#\[/, end: /\]/, contains: [hljs.QUOTE_STRING_MODE, hljs.C_NUMBER_MODE] },
                { className: "comment", begin: /\/\/[\/!]/, end: /$/ },
                hljs.C_LINE_COMMENT_MODE,
                hljs.C_BLOCK_COMMENT_MODE,
                hljs.QUOTE_STRING_MODE,
                { className: "string", begin: /'(?:[^'\\]|\\.)'/ },
                // What steers partial evaluation: filters, marks, and whether a value is known.
                { className: "symbol", begin: /@+(?:run\b|halt\b)?|\?(?=[A-Za-z_])|\$(?=[A-Za-z_(])/ },
                { className: "number", begin: "\\b0[xX][0-9a-fA-F_]+" + numberSuffix },
                { className: "number", begin: "\\b0[bB][01_]+" + numberSuffix },
                { className: "number", begin: "\\b[0-9][0-9_]*(?:\\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?" + numberSuffix },
            ],
        };
    });
    for (const block of document.querySelectorAll("code.language-impala, code.language-artic")) {
        // mdBook has been here already, and found no such language.
        delete block.dataset.highlighted;
        block.classList.remove("nohighlight", "no-highlight");
        (hljs.highlightElement || hljs.highlightBlock).call(hljs, block);
    }
})();
