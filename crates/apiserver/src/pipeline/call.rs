//! The verbs over HTTP: each reads its options and its body, has the verb done, and shows what comes of it.

use std::pin::Pin;

use bytes::Bytes;
use http::{Request, Response, header};
use pilothouse_schema::table::Printer;
use pilothouse_value::{Status, Value};

use super::text;
use crate::admission;
use crate::answer::negotiate::{self, Format};
use crate::answer::render::{self, Style};
use crate::doors::body::{self, Body};
use crate::heavy;
use crate::registry::subresources;
use crate::request::Query;
use crate::request::intake::{self, Incoming, Numbers};
use crate::request::options::{DeleteOptions, ListOptions, WatchOptions, WriteOptions};
use crate::state::{Context, Target};
use crate::streaming::WatchSocket;
use crate::verbs::patch::PatchKind;
use crate::verbs::{create, delete, list, patch, read, scale, update, watch};

/// One call of a verb over HTTP.
pub(super) struct Call<'a> {
    pub(super) context: &'a Context,
    pub(super) target: &'a Target,
    pub(super) query: &'a Query,
    pub(super) style: Style,
}

impl Call<'_> {
    pub(super) async fn answer<B>(&self, verb: &str, request: Request<B>) -> Result<Response<Body>, Status>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Into<Bytes> + Send,
        B::Error: std::fmt::Display + Send,
    {
        // Each verb's work has a place of its own: what leads to it would be as large as the largest, and be moved as often.
        let work: Pin<Box<dyn Future<Output = _> + Send>> = match verb {
            "get" => Box::pin(self.get()),
            "list" => Box::pin(self.list()),
            "create" => Box::pin(self.create(request)),
            "update" => Box::pin(self.update(request)),
            "patch" => Box::pin(self.patch(request)),
            "delete" => Box::pin(self.delete(request)),
            "deletecollection" => Box::pin(self.delete_collection(request)),
            _ => {
                return Err(Status::method_not_allowed(
                    &self.target.resource.group,
                    &self.target.resource.plural,
                    verb,
                ));
            }
        };
        work.await
    }

    /// Notes how large what was sent, and what is there, is.
    async fn weigh(&self, sent: usize) {
        let Target { resource, namespace, name, .. } = self.target;
        let there = self.context.state.store.get(&resource.key, namespace, name);
        let there = there.map_or(0, |object| object.bytes().len());
        self.context.load.put(sent.max(there)).await;
    }

    /// Notes whether there are many objects.
    async fn count(&self) {
        if self.context.state.store.snapshot().count(&self.target.resource.key) >= heavy::MANY {
            self.context.load.put(heavy::LARGE).await;
        }
    }

    fn object(&self, code: u16, document: &crate::answer::document::Document) -> Response<Body> {
        let resource = &self.target.resource;
        // What is not of the resource's own kind is never shown as a row of it.
        let printer = match self.target.subresource.as_deref() {
            None | Some("status") => Some(resource.printer()),
            Some("scale") if resource.is_built_in() => Some(Printer::built_in_scale()),
            Some("scale") => Some(Printer::custom_scale()),
            Some(_) => None,
        };
        render::object(code, printer, document, self.style)
    }

    /// Reads a body that is an object.
    async fn document<B>(&self, request: Request<B>) -> Result<Incoming, Status>
    where
        B: http_body::Body + Send,
        B::Data: Into<Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let encoding = negotiate::content_type(text(request.headers(), header::CONTENT_TYPE))?;
        let bytes = body::read(request.into_body()).await?;
        self.weigh(bytes.len()).await;
        if self.target.subresource.as_deref() == Some("scale") && !self.target.resource.is_built_in() {
            // The path is enough to tell what it is, as for built-in kinds.
            return intake::decode(encoding, &bytes, Numbers::Spelled);
        }
        intake::decode_object(encoding, &bytes, &self.target.resource, self.target.subresource.as_deref())
    }

    async fn get(&self) -> Result<Response<Body>, Status> {
        if self.query.flag("export") && self.target.subresource.is_none() {
            let why = "the export parameter, deprecated since v1.14, is no longer supported";
            return Err(Status::bad_request(why));
        }
        self.weigh(0).await;
        let document = match self.target.subresource.as_deref() {
            Some("scale") => scale::get(self.context, self.target).await?,
            _ => read::get(self.context, self.target, self.query.get("resourceVersion")).await?,
        };
        Ok(self.object(200, &document))
    }

    async fn list(&self) -> Result<Response<Body>, Status> {
        let options = ListOptions::parse(self.query)?;
        self.count().await;
        let page = list::list(self.context, self.target, &options).await?;
        Ok(render::list(&self.target.resource, &page, self.style))
    }

    pub(super) async fn watch(&self, socket: Option<WatchSocket>) -> Result<Response<Body>, Status> {
        let mut target = self.target.clone();
        let mut options = WatchOptions::parse(self.query)?;
        // The old prefix /watch/ names one object in its path.
        let name = std::mem::take(&mut target.name);
        if !name.is_empty() && options.field_selector.is_none() {
            options.field_selector = Some(format!("metadata.name={name}"));
        }
        let watch = watch::watch(self.context, &target, &options).await?;
        Ok(match socket {
            None => render::watch(watch, target.resource, self.style),
            Some(socket) => {
                let events = render::messages(watch, target.resource, self.style);
                let binary = self.style.accepted.format == Format::Protobuf;
                socket.serve(events, binary).map(|()| Body::full(Bytes::new()))
            }
        })
    }

    async fn create<B>(&self, request: Request<B>) -> Result<Response<Body>, Status>
    where
        B: http_body::Body + Send,
        B::Data: Into<Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let options = WriteOptions::parse(self.query, "CreateOptions", false)?;
        let incoming = self.document(request).await?;
        admission::await_account(&self.context.state, self.target).await;
        let document = if self.target.subresource.is_some() || !self.target.resource.has_verb("get") {
            subresources::create(self.context, self.target, incoming, &options).await?
        } else {
            create::create(self.context, self.target, incoming, &options).await?
        };
        Ok(self.object(201, &document))
    }

    async fn update<B>(&self, request: Request<B>) -> Result<Response<Body>, Status>
    where
        B: http_body::Body + Send,
        B::Data: Into<Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let options = WriteOptions::parse(self.query, "UpdateOptions", false)?;
        let incoming = self.document(request).await?;
        let changed = match self.target.subresource.as_deref() {
            Some("scale") => scale::update(self.context, self.target, incoming, &options).await?,
            _ => update::update(self.context, self.target, incoming, &options).await?,
        };
        Ok(self.object(if changed.created { 201 } else { 200 }, &changed.document))
    }

    async fn patch<B>(&self, request: Request<B>) -> Result<Response<Body>, Status>
    where
        B: http_body::Body + Send,
        B::Data: Into<Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let content_type = text(request.headers(), header::CONTENT_TYPE).unwrap_or_default();
        let kind = PatchKind::of(&self.target.resource, content_type)?;
        let options = WriteOptions::parse(self.query, "PatchOptions", kind == PatchKind::Apply)?;
        let bytes = body::read(request.into_body()).await?;
        self.weigh(bytes.len()).await;
        let encoding = match kind {
            PatchKind::Apply => negotiate::Encoding::Yaml,
            _ => negotiate::Encoding::Json,
        };
        let numbers = match kind {
            // What the patch says is put into the text of the object.
            PatchKind::Json | PatchKind::Merge | PatchKind::Strategic => Numbers::Spelled,
            PatchKind::Apply => Numbers::Read,
        };
        let mut incoming = read_patch(encoding, &bytes, numbers).map_err(|status| match kind {
            PatchKind::Apply => status,
            // What is well-formed is read only once there is an object to patch.
            // What these libraries say, whatever is wrong.
            _ => Status::bad_request("invalid JSON patch"),
        })?;
        if kind == PatchKind::Strategic
            && let Err(status) = read_map(&mut incoming)
        {
            // What is well-formed is read only once there is an object to patch.
            return Err(if self.has_object() { status } else { self.target.not_found() });
        }
        let changed = patch::patch(self.context, self.target, kind, incoming, &options).await?;
        Ok(self.object(if changed.created { 201 } else { 200 }, &changed.document))
    }

    fn has_object(&self) -> bool {
        let Target { resource, namespace, name, .. } = self.target;
        self.context.state.store.get(&resource.key, namespace, name).is_some()
    }

    async fn delete<B>(&self, request: Request<B>) -> Result<Response<Body>, Status>
    where
        B: http_body::Body + Send,
        B::Data: Into<Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let options = delete_options(self.query, request).await?;
        self.weigh(0).await;
        let deleted = delete::delete(self.context, self.target, &options).await?;
        Ok(match deleted {
            delete::Deleted::Gone(_) if !self.target.resource.rules.returns_deleted => {
                render::object(200, None, &deleted.document(self.target), self.style)
            }
            deleted => {
                // Unlike a Status, an object is shown as it was asked for.
                super::one_or_many(self.style.accepted, "get", &self.target.resource)?;
                self.object(200, &deleted.document(self.target))
            }
        })
    }

    async fn delete_collection<B>(&self, request: Request<B>) -> Result<Response<Body>, Status>
    where
        B: http_body::Body + Send,
        B::Data: Into<Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let list_options = ListOptions::parse(self.query)?;
        let options = delete_options(self.query, request).await?;
        options.check_collection()?;
        self.count().await;
        let page = delete::delete_collection(self.context, self.target, &list_options, &options).await?;
        Ok(render::list(&self.target.resource, &page, self.style))
    }
}

/// Reads a patch. What is applied is YAML whatever it looks like; how it looks decides which stage of upstream fails.
fn read_patch(encoding: negotiate::Encoding, bytes: &Bytes, numbers: Numbers) -> Result<Incoming, Status> {
    let read = intake::decode(encoding, bytes, numbers);
    if encoding != negotiate::Encoding::Yaml {
        return read;
    }
    let looks_like_json = || bytes.trim_ascii_start().starts_with(b"{");
    let incoming = read.map_err(|status| {
        let stage = match looks_like_json() {
            true => "error decoding patch: error converting YAML to JSON",
            false => "error encoding patch",
        };
        Status::bad_request(format!("{stage}: {}", status.message))
    })?;
    if incoming.value.as_object().is_none() && !incoming.value.is_null() {
        return Err(Status::bad_request(format!(
            "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of \
             type map[string]interface {{}}",
            intake::go_name(&incoming.value)
        )));
    }
    Ok(incoming)
}

/// Reads a strategic merge patch into a map.
///
/// # Errors
/// 400 if it is none, or has a number that no float can hold.
fn read_map(incoming: &mut Incoming) -> Result<(), Status> {
    let wrong = |found: &str, wanted: &str| {
        Status::bad_request(format!("json: cannot unmarshal {found} into Go value of type {wanted}"))
    };
    if !incoming.value.is_null() && incoming.value.as_object().is_none() {
        return Err(wrong(intake::go_name(&incoming.value), "map[string]interface {}"));
    }
    if incoming.is_spelled() {
        incoming.value.read_numbers().map_err(|literal| wrong(&format!("number {literal}"), "float64"))?;
    }
    Ok(())
}

/// Reads the options of a deletion from the body, or else from the query.
async fn delete_options<B>(query: &Query, request: Request<B>) -> Result<DeleteOptions, Status>
where
    B: http_body::Body + Send,
    B::Data: Into<Bytes> + Send,
    B::Error: std::fmt::Display,
{
    let header = text(request.headers(), header::CONTENT_TYPE).map(str::to_owned);
    let bytes = body::read(request.into_body()).await?;
    let body: Option<Value> = if bytes.is_empty() {
        None
    } else {
        let encoding = negotiate::content_type(header.as_deref())?;
        Some(intake::decode_options(encoding, &bytes)?)
    };
    DeleteOptions::parse(query, body.as_ref())
}
