//! Tests of the object adapter alone: local calls take the path of remote ones.

mod activators;
mod adapters;
mod combinations;
mod common;
mod current;
mod destruction;
mod locators;
mod managers;
mod priorities;
mod references;
mod strategies;
mod threads;
