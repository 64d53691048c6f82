//! An origin to try things on by hand: prints `PLAIN TLS` and writes its authority to the file that is named first, its certificate and
//! key to the second, then stays.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    let origin = origin::Origin::start();
    if let Some(path) = std::env::args_os().nth(1) {
        std::fs::write(path, origin.ca_pem())?;
    }
    if let Some(path) = std::env::args_os().nth(2) {
        std::fs::write(path, origin.identity_pem())?;
    }
    writeln!(io::stdout(), "{} {}", origin.plain(), origin.tls())?;
    loop {
        std::thread::park();
    }
}
