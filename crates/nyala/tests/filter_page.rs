//! The page of `nyala filter --show` in a real browser: source, picture, frame slider, errors. Without Chromium the
//! test is skipped, and says so.

mod support;

use std::fs;

use nyala_filter::{Picture, files};
use nyala_test_support::browser::{Page, start_server};
use support::{Folder, nyala};

const FADE: &str = "[ 3 channels: 1.0 - iter / 4.0 ]\n";

/// Waits until the first pixel of the picture has this red, as other text of the page has been shown.
fn wait_for_red(page: &mut Page, red: u8) {
    let found = (0..400).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        page.pixels("picture").first().copied()
    });
    let mut seen = vec![];
    for value in found {
        if value == Some(red) {
            return;
        }
        seen.push(value);
    }
    panic!("the picture has no red of {red}: {:?}", seen.last());
}

#[test]
fn the_page_shows_frames_and_errors_and_follows_the_file() {
    let folder = Folder::new("filter-browser");
    let picture = Picture::from_interleaved(9, 7, 3, 255, |index| index as u16).expect("it is small");
    let input = folder.file("in.png", files::encode(&picture).expect("it is a picture"));
    let filter = folder.file("fade.img", FADE);
    let (_server, url) =
        start_server(nyala().args(["filter", &filter, &input, "--show", "--no-open", "--frames", "5"]));
    let Some(mut page) = Page::open(&url, &folder.0.join("profile")) else { return };
    let text = |id: &str| format!("document.getElementById('{id}').textContent");

    // The first frame, with the source.
    wait_for_red(&mut page, 255);
    assert_eq!(page.evaluate(&text("source")), FADE);
    assert_eq!(page.evaluate(&text("number")), "frame 0");
    assert_eq!(page.evaluate("document.getElementById('picture').naturalWidth"), 9);

    // The slider chooses a frame.
    page.evaluate("(() => { const s = document.getElementById('frame'); s.value = 2; s.dispatchEvent(new Event('input')); })()");
    wait_for_red(&mut page, 128);
    assert_eq!(page.evaluate(&text("number")), "frame 2");

    // `Play` shows the frames one after the other, from the last one to the first one.
    let number = text("number");
    page.evaluate("document.getElementById('play').click()");
    assert_eq!(page.evaluate(&text("play")), "Pause");
    for frame in ["frame 4", "frame 1"] {
        page.wait(&number, |shown| shown == frame);
    }
    page.evaluate("document.getElementById('play').click()");
    assert_eq!(page.evaluate(&text("play")), "Play");

    // A new version is shown when it is saved; so are its errors, with the picture before.
    fs::write(&filter, "[ 3 channels: 0.2 ]").expect("the folder is writable");
    wait_for_red(&mut page, 51);
    fs::write(&filter, "[ 3 channels: 0.2 + ]").expect("the folder is writable");
    let errors = page.wait(&text("errors"), |errors| errors != "");
    assert!(
        errors.as_str().is_some_and(|errors| errors.contains("E1201") && errors.contains("fade.img:1:21")),
        "{errors}"
    );
    assert_eq!(page.pixels("picture").first(), Some(&51));
    // Faults of a frame as well.
    fs::write(&filter, "[ 3 channels: 1 / (iter - iter) ]").expect("the folder is writable");
    page.wait(&text("errors"), |errors| errors.as_str().is_some_and(|errors| errors.contains("E1211")));
    // The errors disappear with their cause.
    fs::write(&filter, "[ 3 channels: 0.4 ]").expect("the folder is writable");
    wait_for_red(&mut page, 102);
    assert_eq!(page.evaluate(&text("errors")), "");
}
