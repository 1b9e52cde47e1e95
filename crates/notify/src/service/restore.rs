//! Restoring of objects from the store at the start of the service.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use oxorb::Orb;
use oxorb::values::Codec;

use super::{Kind, Service};
use crate::channel::Channel;
use crate::event::{Event, Times};
use crate::filter::FilterObject;
use crate::notify_store as rows;
use crate::properties::{Level, Values};
use crate::proxy::{ProxyConsumer, ProxySupplier};
use crate::store::{Change, Contents, Row, Slip, reference_of};

/// Rows of one kind, with their ids.
struct Rows<R>(Vec<(i32, R)>);

impl<R: Row> Rows<R> {
    /// Reads the rows of one kind. Rows that cannot be read are omitted here, and removed from the store later.
    fn of(orb: &Orb, objects: &[((u8, i32), Vec<u8>)], kind: Kind) -> Rows<R> {
        let rows = objects.iter().filter(|((of, _), _)| *of == kind as u8);
        let rows = rows.filter_map(|((_, id), octets)| {
            let any = Codec::default().decode_in(octets, &**orb).ok()?;
            Some((*id, R::of(&any)?))
        });
        Rows(rows.collect())
    }
}

/// Objects that have been restored.
#[derive(Default)]
struct Made {
    objects: HashSet<(u8, i32)>,
    channels: BTreeMap<i32, Arc<Channel>>,
    consumers: BTreeMap<i32, (Arc<Channel>, Arc<ProxySupplier>)>,
}

impl Service {
    /// Restores filters, channels, admins and proxies from the store, with the same ids. Connects the proxies again,
    /// and offers them the undelivered events. Rows whose parents no longer exist are removed.
    ///
    /// # Errors
    /// The object that could not be restored, and the reason. In this case nothing is removed from the store.
    pub(crate) fn restore(
        self: &Arc<Self>,
        orb: &Orb,
        mut contents: Contents,
    ) -> Result<(), String> {
        let Some(keeper) = &self.keeper else {
            return Ok(());
        };
        let given = |kinds: fn(u8) -> bool| {
            let ids = contents.objects.iter().filter(|((kind, _), _)| kinds(*kind));
            ids.map(|((_, id), _)| *id).max().unwrap_or(0)
        };
        let objects = given(|kind| kind < Kind::Filter as u8).max(contents.last.0);
        self.last.store(objects, Ordering::Relaxed);
        let filters = given(|kind| kind == Kind::Filter as u8).max(contents.last.1);
        self.last_filter.store(filters, Ordering::Relaxed);

        let mut made = Made::default();
        self.restore_filters(orb, &contents.objects, &mut made)?;
        self.restore_channels(orb, &contents.objects, &mut made)?;
        self.restore_admins(orb, &contents.objects, &mut made)?;
        self.restore_proxies(orb, &mut contents, &mut made)?;
        self.restore_callbacks(orb, &contents.objects, &mut made);
        for (place, _) in &contents.objects {
            if !made.objects.contains(place) {
                keeper.discard(Change::NoObject(place.0, place.1));
            }
        }
        keeper.restored();
        Ok(())
    }

    fn restore_filters(
        self: &Arc<Self>,
        orb: &Orb,
        objects: &[((u8, i32), Vec<u8>)],
        made: &mut Made,
    ) -> Result<(), String> {
        let used = used_filters(self, orb, objects);
        for (id, row) in Rows::<rows::Filter>::of(orb, objects, Kind::Filter).0 {
            if !used.contains(&id) {
                continue;
            }
            let maps = row.maps;
            let filter = FilterObject::restore(&self.home(), id, row).map(Arc::new);
            let filter = filter.ok_or("this version does not support its grammar");
            let filter = filter.map_err(not_made("filter", id))?;
            filter.keep().map_err(not_made("filter", id))?;
            let served = self.serve_filter(id, maps, Arc::clone(&filter));
            served.map_err(not_made("filter", id))?;
            self.filters.lock().insert(id, filter);
            made.objects.insert((Kind::Filter as u8, id));
        }
        Ok(())
    }

    fn restore_channels(
        self: &Arc<Self>,
        orb: &Orb,
        objects: &[((u8, i32), Vec<u8>)],
        made: &mut Made,
    ) -> Result<(), String> {
        // Use the number of all stored proxies as the capacity of each channel: how many belong to one channel is known
        // only after its admins are restored.
        let proxies = Rows::<rows::Proxy>::of(orb, objects, Kind::Proxy).0.len();
        for (id, row) in Rows::<rows::Channel>::of(orb, objects, Kind::Channel).0 {
            let values = self.values(Level::Channel, &row.qos);
            let administration = self.values(Level::Administration, &row.administration);
            let channel = Channel::create(self, id, values, administration, proxies);
            let channel = channel.map_err(not_made("channel", id))?;
            if !row.name.is_empty() {
                let _ = channel.set_name(&row.name);
                self.names().insert(row.name, id);
            }
            made.objects.insert((Kind::Channel as u8, id));
            made.channels.insert(id, channel);
        }
        Ok(())
    }

    /// Returns the values of properties. Properties that the service no longer supports are set to their defaults.
    fn values(&self, level: Level, properties: &[crate::cos_notification::Property]) -> Values {
        let mut values = Values::new(level);
        for property in properties {
            let _ = values.set(std::slice::from_ref(property), self.support());
        }
        values
    }

    fn restore_admins(
        self: &Arc<Self>,
        orb: &Orb,
        objects: &[((u8, i32), Vec<u8>)],
        made: &mut Made,
    ) -> Result<(), String> {
        for (id, row) in Rows::<rows::Admin>::of(orb, objects, Kind::Admin).0 {
            let Some(channel) = made.channels.get(&row.channel) else {
                continue;
            };
            let restored = channel.restore_admin(self, orb, id, &row);
            restored.map_err(not_made("admin", id))?;
            made.objects.insert((Kind::Admin as u8, id));
        }
        Ok(())
    }

    /// Restores the consumers with their undelivered events first, and then the suppliers, so that new events come
    /// later.
    fn restore_proxies(
        self: &Arc<Self>,
        orb: &Orb,
        contents: &mut Contents,
        made: &mut Made,
    ) -> Result<(), String> {
        let rows = Rows::<rows::Proxy>::of(orb, &contents.objects, Kind::Proxy).0;
        let (consumers, suppliers): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|(_, row)| row.consumers);
        for (id, row) in consumers {
            let found = made.channels.values().find_map(|channel| {
                let admin = channel.consumer_admin(row.admin)?;
                Some((Arc::clone(channel), admin))
            });
            let Some((channel, admin)) = found else {
                continue;
            };
            let proxy = ProxySupplier::restore(self, &admin, orb, id, &row);
            let proxy = proxy.map_err(not_made("proxy", id))?;
            made.objects.insert((Kind::Proxy as u8, id));
            made.consumers.insert(id, (channel, proxy));
        }
        self.offer_again(contents, made);
        for (id, row) in suppliers {
            let mut channels = made.channels.values();
            let Some(admin) = channels.find_map(|channel| channel.supplier_admin(row.admin)) else {
                continue;
            };
            let proxy = ProxyConsumer::restore(self, &admin, orb, id, &row);
            proxy.map_err(not_made("proxy", id))?;
            made.objects.insert((Kind::Proxy as u8, id));
        }
        Ok(())
    }

    fn offer_again(&self, contents: &mut Contents, made: &Made) {
        let mut events: BTreeMap<u64, Arc<Event>> = BTreeMap::new();
        let mut again = Vec::new();
        for (proxy, number) in std::mem::take(&mut contents.slips) {
            let Some(left) = contents.events.get(&number) else {
                self.discard(Change::NoSlip(proxy, number));
                continue;
            };
            // Unless it is queued below, this slip is dropped at the end of the iteration, which settles it.
            let slip = Slip::new(&left.kept, proxy);
            let Some((channel, proxy)) = made.consumers.get(&proxy) else {
                slip.settle();
                continue;
            };
            let event = match events.get(&number) {
                Some(event) => Some(Arc::clone(event)),
                None => channel.event_of(&left.any),
            };
            let Some(event) = event else {
                slip.settle();
                continue;
            };
            events.insert(number, Arc::clone(&event));
            let now = channel.dispatcher.plan().clock.now();
            let times = Times::new(now).of_arrival(left.arrival);
            let attributes = proxy.owe(&event, &times);
            again.push((proxy, event, slip, attributes));
        }
        // Enlarge the queues first, because more events may be outstanding than a queue usually accepts.
        made.consumers.values().for_each(|(_, proxy)| proxy.apply());
        for (proxy, event, slip, attributes) in again {
            proxy.offer(&event, Some(slip), &attributes);
        }
    }

    fn restore_callbacks(&self, orb: &Orb, objects: &[((u8, i32), Vec<u8>)], made: &mut Made) {
        for ((kind, id), octets) in objects {
            if *kind != Kind::Callback as u8 {
                continue;
            }
            let any = Codec::default().decode_in(octets, &**orb).unwrap_or_default();
            let reference = any.get::<Vec<u8>>().ok().flatten();
            let reference = reference.and_then(|octets| reference_of(orb, &octets));
            if let Some(reference) = reference {
                self.restore_callback(*id, &reference);
                made.objects.insert((*kind, *id));
            }
        }
    }

    fn discard(&self, change: Change) {
        if let Some(keeper) = &self.keeper {
            keeper.discard(change);
        }
    }
}

/// Returns a function that creates the error for an object that could not be restored.
fn not_made<E: Display>(what: &str, id: i32) -> impl Fn(E) -> String {
    move |why| {
        format!(
            "its {what} {id} cannot be restored: {why}; nothing was removed from the store, so correct the cause and \
             restart the service"
        )
    }
}

/// Returns the ids of the local filters that stored admins and proxies use.
fn used_filters(service: &Service, orb: &Orb, objects: &[((u8, i32), Vec<u8>)]) -> HashSet<i32> {
    let admins = Rows::<rows::Admin>::of(orb, objects, Kind::Admin).0;
    let proxies = Rows::<rows::Proxy>::of(orb, objects, Kind::Proxy).0;
    let all = admins.into_iter().map(|(_, row)| row.has);
    let all = all.chain(proxies.into_iter().map(|(_, row)| row.has));
    let references = all.flat_map(|row| {
        let attached = row.filters.into_iter().map(|one| one.filter);
        attached.chain([row.priority_filter, row.lifetime_filter])
    });
    references.filter_map(|octets| service.filter_id(&reference_of(orb, &octets)?)).collect()
}
