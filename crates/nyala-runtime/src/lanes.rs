//! Lane functions outside of SIMD code, where lane 0 is the only one.

/// Whether the lane is active: always.
#[unsafe(no_mangle)]
pub extern "C" fn rv_mask() -> bool {
    true
}

/// Whether the condition holds in any lane.
#[unsafe(no_mangle)]
pub extern "C" fn rv_any(value: bool) -> bool {
    value
}

/// Whether the condition holds in all lanes.
#[unsafe(no_mangle)]
pub extern "C" fn rv_all(value: bool) -> bool {
    value
}

/// The mask of the lanes in which the condition holds.
#[unsafe(no_mangle)]
pub extern "C" fn rv_ballot(value: bool) -> i32 {
    i32::from(value)
}

/// The value of a lane.
#[unsafe(no_mangle)]
pub extern "C" fn rv_extract(value: f32, _lane: i32) -> f32 {
    value
}

/// The value with a lane replaced.
#[unsafe(no_mangle)]
pub extern "C" fn rv_insert(_value: f32, _lane: i32, new: f32) -> f32 {
    new
}

/// Element `lane` of an array.
///
/// # Safety
/// The array has that element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rv_load(array: *const f32, lane: i32) -> f32 {
    // SAFETY: the caller guarantees it.
    unsafe { *array.offset(lane as isize) }
}

/// Writes element `lane` of an array.
///
/// # Safety
/// The array has that element, and may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rv_store(array: *mut f32, lane: i32, value: f32) {
    // SAFETY: the caller guarantees it.
    unsafe { *array.offset(lane as isize) = value }
}

/// The value of the lane that is `shift` further: of lane 0.
#[unsafe(no_mangle)]
pub extern "C" fn rv_shuffle(value: f32, _shift: i32) -> f32 {
    value
}

/// The pointer, which has the given alignment.
#[unsafe(no_mangle)]
pub extern "C" fn rv_align(ptr: *const i8, _align: i32) -> *const i8 {
    ptr
}

/// The values of lanes for which `keep` holds, moved to the front.
#[unsafe(no_mangle)]
pub extern "C" fn rv_compact(value: f32, _keep: bool) -> f32 {
    value
}

/// The number of this lane.
#[unsafe(no_mangle)]
pub extern "C" fn rv_lane_id() -> i32 {
    0
}

/// The number of lanes.
#[unsafe(no_mangle)]
pub extern "C" fn rv_num_lanes() -> i32 {
    1
}
