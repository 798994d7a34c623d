//! The page of `--serve` in a real browser: the picture refines, and turns with the mouse. Without Chromium the test is skipped, and says so.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use nyala_test_support::browser::{Page, start_server};
use serde_json::json;

/// How many pixels of the picture are bright.
fn n_bright(page: &mut Page) -> usize {
    let count = |page: &mut Page| page.pixels("picture").chunks(4).filter(|pixel| pixel[0] > 100).count();
    (0..50).map(|_| count(page)).find(|&n| n > 0).unwrap_or(0)
}

#[test]
fn the_picture_refines_and_turns() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    // A square, which is narrow from the side.
    fs::write(folder.join("a.obj"), "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nf 1 2 3 4\n").unwrap();
    let mut app = Command::new(env!("CARGO_BIN_EXE_nyala-raytrace"));
    app.args(["a.obj", "--serve", "0", "--size", "96x64", "--eye", "0,0,4", "--threads", "1"]);
    let (_app, url) = start_server(app.current_dir(&folder));
    let Some(mut page) = Page::open(&url, &folder.join("profile")) else { return };

    // At least this many samples, from this direction.
    let wait_refined = |page: &mut Page, n: u64, turned: &str| {
        page.wait("document.getElementById('state').textContent", |state| {
            let state = state.as_str().unwrap_or_default();
            let samples = state.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
            samples >= n && state.contains(turned)
        })
    };
    wait_refined(&mut page, 3, "turned by 0°");
    let front = n_bright(&mut page);
    assert!(front > 1000, "{front} bright pixels");
    // A drag by 200 pixels turns the camera by 80 degrees.
    let place = "(() => { const r = document.getElementById('picture').getBoundingClientRect(); return [r.x + 10, r.y + 10]; })()";
    let place = page.evaluate(place);
    let (x, y) = (place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    for (kind, x) in [
        ("mousePressed", x),
        ("mouseMoved", x + 100.0),
        ("mouseMoved", x + 200.0),
        ("mouseReleased", x + 200.0),
    ] {
        let params = json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
        page.call("Input.dispatchMouseEvent", params);
    }
    wait_refined(&mut page, 5, "turned by 80°");
    let side = n_bright(&mut page);
    assert!(side > 0 && side < front / 2, "{front} bright pixels from the front, {side} from the side");
}
