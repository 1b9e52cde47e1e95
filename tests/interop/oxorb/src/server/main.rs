//! The OxORB server of the interoperability test.
#![forbid(unsafe_code)]

mod any;
mod data;
mod later;
mod objects;
mod values;

use std::error::Error;

use oxorb::{Interface, ObjectRef, Orb, SystemException};
use oxorb_interop::interop::{self, SuiteRef};
use oxorb_interop::{Args, lanes};
use oxorb_interop::{interop_any, interop_jacorb, interop_omniorb};

fn main() -> Result<(), Box<dyn Error>> {
    let (args, orb) = Args::start()?;
    let suite: SuiteRef = lanes::propagated(&orb).activate(Suite::new(&orb)?)?;
    // The object is also at corbaloc::host:port/Suite.
    orb.bind("Suite", &suite);
    let unfinished = format!("{}.new", args.ior);
    std::fs::write(&unfinished, suite.to_ior())?;
    std::fs::rename(&unfinished, &args.ior)?;
    orb.run();
    Ok(())
}

/// Object through which clients obtain all others.
struct Suite {
    orb: Orb,
    numbers: interop::NumbersRef,
    texts: interop::TextsRef,
    wide: interop::WideTextsRef,
    aggregates: interop::AggregatesRef,
    choices: interop::ChoicesRef,
    sequences: interop::SequencesRef,
    properties: interop::PropertiesRef,
    bottom: interop::BottomRef,
    faults: interop::FaultsRef,
    references: interop::ReferencesRef,
    omniorb: interop_omniorb::ExtrasRef,
    jacorb: interop_jacorb::ExtrasRef,
    any: interop_any::SuiteRef,
    values: oxorb_interop::interop_values::SuiteRef,
    office: oxorb_interop::interop_async::OfficeRef,
}

impl Suite {
    fn new(orb: &Orb) -> Result<Self, oxorb::poa::PoaError> {
        let poa = lanes::propagated(orb);
        Ok(Self {
            orb: orb.clone(),
            numbers: poa.activate(data::Numbers)?,
            texts: poa.activate(data::Texts)?,
            wide: poa.activate(data::WideTexts)?,
            aggregates: poa.activate(data::Aggregates)?,
            choices: poa.activate(data::Choices)?,
            sequences: poa.activate(data::Sequences)?,
            properties: poa.activate(objects::Properties::default())?,
            bottom: poa.activate(objects::Bottom::default())?,
            faults: poa.activate(objects::Faults)?,
            references: poa.activate(objects::References::new(orb))?,
            omniorb: poa.activate(data::OmniorbExtras)?,
            jacorb: poa.activate(objects::JacorbExtras::default())?,
            any: poa.activate(any::Suite::new(orb)?)?,
            values: poa.activate(values::Values::new(orb)?)?,
            office: poa.activate(later::Office::new(orb)?)?,
        })
    }
}

impl interop::Suite for Suite {
    fn number_tests(&self) -> Result<Option<interop::NumbersRef>, SystemException> {
        Ok(Some(self.numbers.clone()))
    }

    fn text_tests(&self) -> Result<Option<interop::TextsRef>, SystemException> {
        Ok(Some(self.texts.clone()))
    }

    fn wide_tests(&self) -> Result<Option<interop::WideTextsRef>, SystemException> {
        Ok(Some(self.wide.clone()))
    }

    fn aggregate_tests(&self) -> Result<Option<interop::AggregatesRef>, SystemException> {
        Ok(Some(self.aggregates.clone()))
    }

    fn choice_tests(&self) -> Result<Option<interop::ChoicesRef>, SystemException> {
        Ok(Some(self.choices.clone()))
    }

    fn sequence_tests(&self) -> Result<Option<interop::SequencesRef>, SystemException> {
        Ok(Some(self.sequences.clone()))
    }

    fn property_tests(&self) -> Result<Option<interop::PropertiesRef>, SystemException> {
        Ok(Some(self.properties.clone()))
    }

    fn inheritance_tests(&self) -> Result<Option<interop::BottomRef>, SystemException> {
        Ok(Some(self.bottom.clone()))
    }

    fn fault_tests(&self) -> Result<Option<interop::FaultsRef>, SystemException> {
        Ok(Some(self.faults.clone()))
    }

    fn reference_tests(&self) -> Result<Option<interop::ReferencesRef>, SystemException> {
        Ok(Some(self.references.clone()))
    }

    fn extras(&self, name: &str) -> Result<Option<ObjectRef>, SystemException> {
        Ok(match name {
            "omniorb" => Some(self.omniorb.unchecked_narrow()),
            "jacorb" => Some(self.jacorb.unchecked_narrow()),
            "any" => Some(self.any.unchecked_narrow()),
            "values" => Some(self.values.unchecked_narrow()),
            "async" => Some(self.office.unchecked_narrow()),
            _ => None,
        })
    }

    fn shutdown(&self) {
        // Another thread shuts the ORB down, because a shutdown within this request would wait for the request.
        let orb = self.orb.clone();
        std::thread::spawn(move || orb.shutdown(true));
    }
}
