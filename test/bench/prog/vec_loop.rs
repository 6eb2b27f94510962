// SPDX-License-Identifier: MIT
// vec_loop COUNT: a vector of 64 bytes made and dropped, COUNT times.  Prints the time of one: the mean, and the median of 64
// portions.  Built by plain `rustc -O`.
use std::arch::asm;
use std::time::Instant;

// std::hint::black_box is missing in older compilers.
#[inline(always)]
fn black_box<T>(value: &T) {
    unsafe { asm!("/* {0} */", in(reg) value as *const T, options(nostack)) }
}

const PORTIONS: usize = 64;

fn make(count: u64) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        let v: Vec<u8> = Vec::with_capacity(64);
        black_box(&v);
    }
    start.elapsed().as_nanos() as f64 / count as f64
}

fn main() {
    let count: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1_000_000);
    let mut times = [0.0; PORTIONS];
    for portion in 0..=PORTIONS {
        // The first is the warm-up, overwritten by the last.
        times[portion % PORTIONS] = make(count / PORTIONS as u64);
    }
    let mean = times.iter().sum::<f64>() / PORTIONS as f64;
    times.sort_by(|a, b| a.partial_cmp(b).unwrap());
    println!("ns_per_pair={:.2} typical_ns={:.2}", mean, times[PORTIONS / 2]);
}
