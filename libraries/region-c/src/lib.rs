//! Region memory from C. `include/metroon_region.h` is the documentation; here are the functions that it declares.
//!
//! 1. `status` has the numbers that functions return, and lets nothing unwind into C.
//! 2. `arguments` makes references and slices of pointers.
//! 3. `heaps` finds heaps by handle, and lends the inline functions of the header the `lanes` that they work on.
//! 4. `lifetimes` opens and closes heaps and regions, `marks` rewinds them.
//! 5. `making`, `changing` and `reading` are about what is in a region.
//! 6. `shared` is about maps that share their parts, and about graphs.
//! 7. `leaving` moves it to other regions, `frozen` shows it to other threads.
//!
//! Functions return a status and write results to places that the caller gives. What a handle names is looked up at each call;
//! what a reference names is compared with the end of the heap. A function that refuses has changed nothing.
#![allow(unsafe_code)]

mod arguments;
mod changing;
mod frozen;
mod heaps;
mod lanes;
#[cfg(test)]
mod layout;
mod leaving;
mod lifetimes;
mod making;
mod marks;
mod reading;
mod shared;
mod status;
