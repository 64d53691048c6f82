//! There is nothing to do: cargo looks at the dependencies of a build script only if there is one.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
