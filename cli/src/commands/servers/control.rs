//! `shelf servers restart` and `shelf servers stop`.

use clap::Args;
use daemon::protocol::{Control, Order};

use crate::environment::Environment;
use crate::error::CommandResult;
use crate::interrupt;
use crate::selection::Which;
use crate::ui::Ui;

#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The server, as it is configured or as the mount shows it
    #[arg(value_name = "NAME")]
    server: String,

    #[command(flatten)]
    which: Which,
}

pub(super) fn run(
    arguments: &Arguments,
    order: Order,
    environment: &Environment,
    ui: &Ui,
) -> CommandResult {
    let interrupt = interrupt::catch()?;
    let mut client = arguments.which.connect(environment, None)?;
    let control = Control {
        server: arguments.server.clone(),
        order,
    };
    let (doing, done) = match order {
        Order::Stop => ("stopping", "stopped"),
        Order::Restart => ("restarting", "restarted"),
    };
    ui.progress(&format!("{doing} {}", arguments.server));
    client.control(&control, Some(&interrupt))?;
    ui.note(&format!("{} is {done}", arguments.server));
    Ok(())
}
