//! Events: points in the work of a device, for programs that wait for a part of it or measure its time.
//!
//! An event has a number, never 0, which is used once. On the host, which has no asynchronous work, an event is a
//! time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::{Device, report, with_device};

/// An event.
#[derive(Clone, Copy, Debug)]
enum Event {
    Host(Instant),
    Device(Device, usize),
}

/// All events of programs.
#[derive(Default)]
struct Events {
    last: i64,
    known: HashMap<i64, Event>,
}

static EVENTS: Mutex<Option<Events>> = Mutex::new(None);

fn with_events<T>(run: impl FnOnce(&mut Events) -> T) -> T {
    let mut events = EVENTS.lock().unwrap_or_else(PoisonError::into_inner);
    run(events.get_or_insert_default())
}

/// The event with this number. Reports an error for unknown numbers.
fn known(number: i64, what: &str) -> Option<Event> {
    let event = with_events(|events| events.known.get(&number).copied());
    if event.is_none() {
        report(format_args!("{what}: there is no event {number}"));
    }
    event
}

/// Records an event after all work that was submitted to a device; returns its number, or 0 if that fails.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_event_record(device: i32) -> i64 {
    let event = match Device::decode(device) {
        None => Some(Event::Host(Instant::now())),
        Some(device) => with_device(device, format_args!("nyala_event_record"), |platform| {
            platform.record(device.number).map(|event| Some(Event::Device(device, event)))
        }),
    };
    let Some(event) = event else { return 0 };
    with_events(|events| {
        events.last += 1;
        events.known.insert(events.last, event);
        events.last
    })
}

/// Waits until a device has reached an event.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_event_wait(event: i64) {
    has_reached(event, true, "nyala_event_wait");
}

/// Whether a device has reached an event.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_event_is_done(event: i64) -> bool {
    has_reached(event, false, "nyala_event_is_done")
}

fn has_reached(event: i64, wait: bool, what: &str) -> bool {
    match known(event, what) {
        None => false,
        Some(Event::Host(_)) => true,
        Some(Event::Device(device, event)) => with_device(device, format_args!("{what}"), |platform| {
            // SAFETY: listed events were recorded, and not released.
            unsafe { platform.has_reached(device.number, event, wait) }
        }),
    }
}

/// Microseconds from one event to another one of the same device. Waits for the second one.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_event_microseconds(start: i64, stop: i64) -> f64 {
    const WHAT: &str = "nyala_event_microseconds";
    match (known(start, WHAT), known(stop, WHAT)) {
        (Some(Event::Host(start)), Some(Event::Host(stop))) => {
            stop.saturating_duration_since(start).as_secs_f64() * 1e6
        }
        (Some(Event::Device(device, start)), Some(Event::Device(other, stop))) if device == other => {
            with_device(device, format_args!("{WHAT}"), |platform| {
                // SAFETY: listed events were recorded, and not released.
                unsafe { platform.microseconds(device.number, start, stop) }
            })
        }
        (Some(_), Some(_)) => {
            report(format_args!("{WHAT}: events {start} and {stop} are of different devices"));
            0.0
        }
        _ => 0.0,
    }
}

/// Releases an event. 0 is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn nyala_event_release(event: i64) {
    if event == 0 || known(event, "nyala_event_release").is_none() {
        return;
    }
    if let Some(Event::Device(device, event)) = with_events(|events| events.known.remove(&event)) {
        with_device(device, format_args!("nyala_event_release"), |platform| {
            // SAFETY: it was recorded, and its number was removed.
            unsafe { platform.release_event(device.number, event) }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_between_events_of_the_host() {
        let start = nyala_event_record(0);
        std::thread::sleep(std::time::Duration::from_millis(2));
        let stop = nyala_event_record(0);
        assert_ne!(start, stop);
        assert!(nyala_event_is_done(stop));
        nyala_event_wait(stop);
        assert!(nyala_event_microseconds(start, stop) >= 2000.0);
        nyala_event_release(start);
        nyala_event_release(stop);
        nyala_event_release(0);
        assert!(with_events(|events| !events.known.contains_key(&start)));
    }
}
