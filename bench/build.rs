//! Has FlowLog, a peer of the suite `live`, make its dataflow of the closure.

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=programs/live/closure.dl");
    flowlog_build::compile("programs/live/closure.dl")
}
