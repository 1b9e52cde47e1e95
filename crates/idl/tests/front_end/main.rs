//! External tests of the front end: golden cases, foreign IDL, hostile input.

mod annotations;
mod cases;
mod complete;
mod corpus;
mod driver;
mod dump;
mod facts;
mod golden;
mod names;
mod robust;
mod shapes;
mod tokens;
mod views;
