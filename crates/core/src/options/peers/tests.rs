//! Start scripts of other ORBs work, or the error says what to change.

use std::time::Duration;

use super::*;
use crate::monitoring::LogLevel;
use crate::options::{ClientConnections, Concurrency};

fn take(args: &str) -> Result<Options, String> {
    let mut options = Options::default();
    let args = args.split(' ').map(str::to_owned);
    match options.take_args(args) {
        Ok(rest) if rest == ["server"] => Ok(options),
        Ok(rest) => Err(format!("left over: {rest:?}")),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_start_script_of_taos_starts() {
    let options = take(
        "server -ORBDebugLevel 10 -ORBEndpoint iiop://127.0.0.1:2809 -ORBDottedDecimalAddresses 1 \
         -ORBObjRefStyle URL -ORBNodelay 1 -ORBSkipServiceConfigOpen -ORBUseIMR 0 \
         -ORBInitRef.NameService=corbaloc::h/NameService -ORBId one",
    )
    .unwrap();
    assert_eq!(options.log_level, LogLevel::Debug);
    assert_eq!(options.listen[0].place, "127.0.0.1:2809");
    assert_eq!(options.init_refs[0].0, "NameService");
    assert_eq!(options.ignored.len(), 3, "{:?}", options.ignored);
    assert_eq!(
        options.ignored[0],
        "-ORBObjRefStyle URL is ignored: to_ior() and to_corbaloc() print a reference in either form"
    );
}

#[test]
fn a_start_script_of_omniorbs_starts() {
    let options = take(
        "server -ORBtraceLevel 10 -ORBendPoint giop:tcp:127.0.0.1:2809 -ORBgiopMaxMsgSize 4194304 \
         -ORBinConScanPeriod 30 -ORBclientCallTimeOutPeriod 500 -ORBoneCallPerConnection 0 \
         -ORBthreadPerConnectionPolicy 0 -ORBtraceInvocations=1",
    )
    .unwrap();
    assert_eq!(options.log_level, LogLevel::Debug);
    assert_eq!(options.limits.max_message, 4 << 20);
    assert_eq!(options.idle_timeout, Some(Duration::from_secs(30)));
    assert_eq!(options.round_trip_timeout, Some(Duration::from_millis(500)));
    assert_eq!(options.client_connections, ClientConnections::Multiplexed);
    assert!(matches!(options.concurrency, Concurrency::LeaderFollowers { .. }));
}

#[test]
fn directives_of_the_service_configurator_are_settings() {
    let mut options = Options::default();
    let mut take = |line| files::directive(&mut options, line);
    take("# a comment").unwrap();
    take(r#"static Server_Strategy_Factory "-ORBConcurrency thread-per-connection""#).unwrap();
    take(
        r#"dynamic Advanced_Resource_Factory Service_Object * TAO_Strategies:_make() "-ORBReactorType select_st -ORBConnectionCacheMax 9""#,
    )
    .unwrap();
    take(r#"static RT_ORB_Loader "-ORBSchedPolicy SCHED_FIFO -ORBPriorityMapping direct""#)
        .unwrap();
    let refused = take(r#"dynamic SSLIOP_Factory Service_Object * TAO_SSLIOP:_make() """#);
    let refused = refused.unwrap_err();
    assert!(refused.starts_with("there is no SSLIOP_Factory: an endpoint"), "{refused}");
    assert_eq!(
        take(r#"static Client_Strategy_Factory "-ORBWhatever 1""#).unwrap_err(),
        "Client_Strategy_Factory has no option -ORBWhatever"
    );
    assert_eq!(options.max_client_connections, Some(9));
    assert_eq!(options.realtime.class, oxorb_sys::schedule::SchedulingClass::Fifo);
    assert_eq!(options.ignored.len(), 1);
}

#[test]
fn what_cannot_be_done_is_refused_with_what_to_do() {
    assert_eq!(
        take("server -ORBUseIMR 1").unwrap_err(),
        "-ORBUseIMR 1: there is no Implementation Repository: give the server a fixed port with \
         -ORBListenEndpoints, and persistent references lead to it"
    );
    assert_eq!(
        take("server -ORBgiopMaxMsgSize lots").unwrap_err(),
        "-ORBgiopMaxMsgSize lots: use -ORBMaxMessage instead: expected a number"
    );
    assert!(take("server -ORBDaemon").unwrap_err().contains("service manager"));
    assert!(take("server -ORBAMICollocation 0").unwrap_err().contains("-ORBCollocation none"));
    assert!(take("server -ORBAMICollocation 1").is_ok());
    assert!(take("server -ORBDontRoute 1").unwrap_err().contains("policy ClientProtocol"));
    assert!(take("server -ORBserverTransportRule 10.0.0.0/8").is_err());
    assert!(take("server -ORBtraceLevel").unwrap_err().contains("needs a value"));
}

#[test]
fn every_option_leads_to_a_setting_that_exists_and_to_one_alone() {
    for (orb, options) in PEER_OPTIONS {
        for (at, option) in options.iter().enumerate() {
            let name = option.name;
            let twice = options[..at].iter().any(|other| other.name == name);
            assert!(!twice, "{orb}: {name} stands there twice");
            if let PeerOptionMeaning::Setting { name: setting, .. } = option.meaning {
                let known = crate::options::SETTINGS.iter();
                assert!(
                    known.clone().any(|known| known.name == setting),
                    "{name} leads to {setting}, which there is not"
                );
            }
        }
    }
}
