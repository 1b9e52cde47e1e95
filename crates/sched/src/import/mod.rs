//! Importers of other tools' models.

pub mod aadl;
