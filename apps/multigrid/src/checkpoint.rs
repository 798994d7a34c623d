//! Checkpoints: states in files, from which a later run goes on.
//!
//! A file begins with [`MAGIC`], the fingerprint of the problem, the steps taken and the number of states; the states follow, as
//! little-endian numbers. It is written beside the old one and renamed, so that a stop at any time leaves a whole file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::cli::Args;
use crate::kernel::State;
use crate::problem::Problem;
use crate::program::{self, Processors};

const MAGIC: &[u8; 8] = b"nyalamg1";

pub struct Checkpoint {
    /// Cycles or time steps so far.
    pub n_steps: u32,
    pub states: Vec<State>,
}

impl Checkpoint {
    pub fn write(&self, path: &Path, problem: &Problem) -> Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(fingerprint(problem).to_le_bytes());
        bytes.extend(self.n_steps.to_le_bytes());
        bytes.extend((self.states.len() as u32).to_le_bytes());
        bytes.extend(self.states.iter().flatten().flat_map(|value| value.to_le_bytes()));
        let draft = path.with_extension("draft");
        let written = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path));
        written.with_context(|| format!("cannot write the checkpoint `{}`", path.display()))
    }

    /// The checkpoint that a run starts from, if there is one.
    pub fn of(args: &Args, problem: &Problem) -> Result<Option<Checkpoint>> {
        match &args.checkpoint {
            Some(path) => Checkpoint::read(path, problem),
            None => Ok(None),
        }
    }

    /// The checkpoint of the same problem, if the file exists.
    fn read(path: &Path, problem: &Problem) -> Result<Option<Checkpoint>> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.with_context(|| format!("cannot read the checkpoint `{}`", path.display()))?,
        };
        let checkpoint = parse(&bytes, problem).with_context(|| {
            format!("`{}` is not a checkpoint of this problem; delete it to begin again", path.display())
        })?;
        Ok(Some(checkpoint))
    }
}

fn parse(bytes: &[u8], problem: &Problem) -> Result<Checkpoint> {
    let (head, values) = bytes.split_at_checked(24).context("the file is too short")?;
    let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    ensure!(&head[..8] == MAGIC, "it has another format");
    ensure!(head[8..16] == fingerprint(problem).to_le_bytes(), "it belongs to another problem");
    let (n_states, n_points) = (number(20) as usize, problem.n_points());
    ensure!(n_states > 0 && Some(values.len()) == n_points.checked_mul(8 * n_states), "it has another size");
    let value = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let all: Vec<f64> = values.chunks_exact(8).map(value).collect();
    Ok(Checkpoint { n_steps: number(16), states: all.chunks_exact(n_points).map(<[f64]>::to_vec).collect() })
}

/// FNV-1a of the program for one thread and of the numbers that are not in it: the same on all machines.
fn fingerprint(problem: &Problem) -> u64 {
    let text = format!("{} {} {}", program::write(problem, Processors::ONE), problem.n, problem.time.step);
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_read_as_written_and_rejected_otherwise() {
        let path = std::env::temp_dir().join(format!("nyala-checkpoint-{}", std::process::id()));
        let problem = |n: u32| {
            Problem::read("heat.toml", &format!("[problem]\nequation = \"heat\"\nintervals = {n}\n")).unwrap()
        };
        let checkpoint = Checkpoint { n_steps: 7, states: vec![vec![1.5; 25], vec![-1.0; 25]] };
        checkpoint.write(&path, &problem(4)).unwrap();
        let read = Checkpoint::read(&path, &problem(4)).unwrap().unwrap();
        assert_eq!((read.n_steps, &read.states), (7, &checkpoint.states));
        assert!(Checkpoint::read(&path, &problem(6)).is_err());
        fs::write(&path, b"nyala").unwrap();
        assert!(Checkpoint::read(&path, &problem(4)).is_err());
        fs::remove_file(&path).unwrap();
        assert!(Checkpoint::read(&path, &problem(4)).unwrap().is_none());
    }
}
