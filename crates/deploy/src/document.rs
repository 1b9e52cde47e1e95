//! Kinds of documents, and how they are read and written.

use crate::described::{Item, clip};
use crate::element::{Element, Limits};
use crate::finding::{Error, Place};
use crate::model::basic::ComponentInterfaceDescription;
use crate::model::domain::Domain;
use crate::model::package::{
    ComponentImplementationDescription, ComponentPackageDescription,
    ImplementationArtifactDescription, PackageConfiguration, TopLevelPackageDescription,
};
use crate::model::plan::Plan;
use crate::model::rtcad::ServerResources;
use crate::{text, xml};

/// Format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// XML in the OMG's schema (CIAO's, for real-time resources).
    Xml,
    /// TOML, for human authors.
    Toml,
}

impl Format {
    /// File extensions of XML documents.
    pub const XML_ENDINGS: &[&str] =
        &["xml", "cdp", "cdd", "cpd", "ccd", "cid", "iad", "pcd", "tpd", "csr"];

    /// Returns the format for the extension of a file name.
    pub fn of_file(name: &str) -> Option<Format> {
        let ending = name.rsplit_once('.')?.1.to_ascii_lowercase();
        match ending.as_str() {
            "toml" => Some(Format::Toml),
            ending if Format::XML_ENDINGS.contains(&ending) => Some(Format::Xml),
            _ => None,
        }
    }
}

macro_rules! documents {
    ($( $(#[$doc:meta])* $kind:ident($ty:ty) = $name:literal, $tag:literal; )*) => {
        /// A document of any kind.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Document {
            $( $(#[$doc])* $kind(Box<$ty>), )*
        }

        /// Kinds of documents: name in TOML and root element in XML.
        const KINDS: &[(&str, &str)] = &[$( ($name, $tag), )*];

        impl Document {
            /// Returns the name of the kind, the value of the key `document` in TOML.
            pub fn kind(&self) -> &'static str {
                match self { $( Document::$kind(_) => $name, )* }
            }

            fn of(root: &Element, kind: &str) -> Result<Document, Error> {
                match kind {
                    $( $name => <$ty as Item>::read(root).map(|read| Document::$kind(Box::new(read))), )*
                    other => unreachable!("{other} is not a kind"),
                }
            }

            fn element(&self) -> Element {
                match self { $( Document::$kind(document) => document.write($name), )* }
            }
        }

        $(
            impl From<$ty> for Document {
                fn from(document: $ty) -> Document {
                    Document::$kind(Box::new(document))
                }
            }
        )*
    };
}

documents! {
    /// A deployment plan (`.cdp`).
    Plan(Plan) = "DeploymentPlan", "Deployment:DeploymentPlan";
    /// A domain (`.cdd`).
    Domain(Domain) = "Domain", "Deployment:Domain";
    /// A package (`.cpd`).
    Package(ComponentPackageDescription) = "ComponentPackageDescription", "Deployment:ComponentPackageDescription";
    /// An interface (`.ccd`).
    Interface(ComponentInterfaceDescription) = "ComponentInterfaceDescription", "Deployment:ComponentInterfaceDescription";
    /// An implementation (`.cid`).
    Implementation(ComponentImplementationDescription) =
        "ComponentImplementationDescription", "Deployment:ComponentImplementationDescription";
    /// An artifact (`.iad`).
    Artifact(ImplementationArtifactDescription) =
        "ImplementationArtifactDescription", "Deployment:ImplementationArtifactDescription";
    /// A configuration of a package (`.pcd`).
    Configuration(PackageConfiguration) = "PackageConfiguration", "Deployment:PackageConfiguration";
    /// The entry of an archive (`.tpd`).
    TopLevel(TopLevelPackageDescription) = "TopLevelPackageDescription", "Deployment:TopLevelPackageDescription";
    /// Real-time resources (`.csr`, RTCAD).
    Resources(ServerResources) = "ServerResources", "CIAO:ServerResources";
}

/// Namespaces of OMG's documents.
const OMG: &[(&str, &str)] = &[
    ("xmlns:Deployment", "http://www.omg.org/Deployment"),
    ("xmlns:xmi", "http://www.omg.org/XMI"),
    ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
    ("xsi:schemaLocation", "http://www.omg.org/Deployment Deployment.xsd"),
];

/// Namespaces of CIAO's documents.
const CIAO: &[(&str, &str)] = &[
    ("xmlns:CIAO", "http://www.dre.vanderbilt.edu/ServerResources"),
    ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
    ("xsi:schemaLocation", "http://www.dre.vanderbilt.edu/ServerResources CIAOServerResources.xsd"),
];

impl Document {
    /// Reads a document and checks its references. Takes time and memory linear in the text, which `limits` bounds.
    ///
    /// # Errors
    /// All errors with their positions: text that is not XML or TOML, elements that the schema does not have, values
    /// that do not fit their types, references to missing elements, and exceeded limits.
    ///
    /// ```
    /// use oxorb_deploy::{Document, Format, Limits};
    ///
    /// let toml = "label = \"small\"\n[[implementation]]\nname = \"Gps\"\n\
    ///     [[instance]]\nname = \"gps\"\nnode = \"cockpit\"\nimplementation = \"Gps\"\n";
    /// let plan = Document::read(toml, Format::Toml, &Limits::default())?;
    /// let xml = plan.write(Format::Xml)?;
    /// assert!(xml.contains("<implementation xmi:idref=\"Gps\"/>"));
    /// assert_eq!(Document::read(&xml, Format::Xml, &Limits::default())?, plan);
    /// # Ok::<(), oxorb_deploy::Error>(())
    /// ```
    pub fn read(text: &str, format: Format, limits: &Limits) -> Result<Document, Error> {
        let limits = Limits { depth: limits.depth.min(64), ..*limits };
        let root = match format {
            Format::Xml => xml::read(text, &limits)?,
            Format::Toml => text::read(text, &limits)?,
        };
        // Names are compared without regard to case, because schemas of different years differ in the case of their
        // first letter.
        let kind = KINDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&root.name));
        let Some((kind, _)) = kind else {
            let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            let what = format!(
                "<{}> is not a document; expected one of {}",
                clip(&root.name),
                known.join(", ")
            );
            return Err(Error::at(root.place, what));
        };
        let document = Document::of(&root, kind)?;
        match &document {
            Document::Plan(plan) => plan.check_references()?,
            Document::Domain(domain) => domain.check_references()?,
            _ => {}
        }
        Ok(document)
    }

    /// Reads a document from the octets of its file: UTF-8, UTF-16 in either byte order with a byte order mark or an
    /// XML declaration, or the encoding of an XML declaration.
    ///
    /// # Errors
    /// As [`read`](Self::read); octets that are not text, and unknown encodings.
    pub fn read_octets(octets: &[u8], format: Format, limits: &Limits) -> Result<Document, Error> {
        // The text is at least half as long as the file, even if the file is UTF-16, so this check is possible before
        // decoding.
        limits.admit_octets(octets.len() / 2)?;
        Document::read(&crate::encoding::text(octets)?, format, limits)
    }

    /// Writes a document, so that [`read`](Self::read) returns an equal one.
    ///
    /// # Errors
    /// Text with characters that XML cannot represent; tables nested too deeply for readers of TOML.
    pub fn write(&self, format: Format) -> Result<String, Error> {
        let root = self.element();
        let found = KINDS.iter().find(|(name, _)| *name == root.name);
        let (name, tag) = found.copied().unwrap_or_default();
        match format {
            Format::Toml => text::write(&root, name),
            Format::Xml => match self {
                Document::Resources(_) => xml::write(&root, tag, CIAO, false),
                _ => xml::write(&root, tag, OMG, true),
            },
        }
    }

    /// Returns the links to other documents (`href`), with their positions.
    pub fn links(&self) -> Vec<(String, Place)> {
        fn collect(element: &Element, into: &mut Vec<(String, Place)>) {
            for child in &element.children {
                match child.name == "href" && child.is_attribute {
                    true => into.push((child.text.clone(), child.place)),
                    false => collect(child, into),
                }
            }
        }
        let mut links = Vec::new();
        collect(&self.element(), &mut links);
        links
    }

    /// Returns the plan.
    ///
    /// # Errors
    /// A document of another kind.
    pub fn into_plan(self) -> Result<Plan, Error> {
        match self {
            Document::Plan(plan) => Ok(*plan),
            other => Err(other.unexpected("a plan")),
        }
    }

    /// Returns the domain.
    ///
    /// # Errors
    /// A document of another kind.
    pub fn into_domain(self) -> Result<Domain, Error> {
        match self {
            Document::Domain(domain) => Ok(*domain),
            other => Err(other.unexpected("a domain")),
        }
    }

    /// Returns the real-time resources.
    ///
    /// # Errors
    /// A document of another kind.
    pub fn into_resources(self) -> Result<ServerResources, Error> {
        match self {
            Document::Resources(resources) => Ok(*resources),
            other => Err(other.unexpected("real-time resources")),
        }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        Error::plain(format!("expected {wanted}, but this is a document of kind {}", self.kind()))
    }
}
