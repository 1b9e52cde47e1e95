//! Settings from files, in a program without the feature `files`.

use oxorb_core::{FILE_SETTINGS, SettingError, SetupError};

use super::Builder;

impl Builder {
    /// Rejects a file; `setting` is the index in [`FILE_SETTINGS`] of the setting that names the
    /// file.
    pub(super) fn take_file(&mut self, setting: usize, value: &str) {
        self.note(Err(SetupError::Setting(SettingError {
            setting: format!("-ORB{} {value}", FILE_SETTINGS[setting]),
            problem: "this program was built without the feature `files` of the crate oxorb, which reads them; build \
                      it with the feature, or pass the settings one by one"
                .to_owned(),
        })));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_file_is_refused_by_name() {
        let args = ["server", "-ORBConfigFile", "orb.toml"].map(String::from);
        let error = crate::Orb::builder().args(args).build().unwrap_err();
        let said = error.to_string();
        assert!(said.contains("-ORBConfigFile orb.toml"), "{said}");
        assert!(said.contains("`files`"), "{said}");
    }
}
