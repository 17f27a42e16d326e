// What tests of operators do with `@kubernetes/client-node`, one line a step: typed clients, KubernetesObjectApi, watches, informers.
import { readFileSync } from 'node:fs';
import * as k8s from '@kubernetes/client-node';

const GROUP = 'clients.example.com';
const at = { group: GROUP, version: 'v1', namespace: 'default', plural: 'widgets' };
const ns = { namespace: 'default' };
const kc = new k8s.KubeConfig();
kc.loadFromDefault();
const core = kc.makeApiClient(k8s.CoreV1Api);
const apps = kc.makeApiClient(k8s.AppsV1Api);
const batch = kc.makeApiClient(k8s.BatchV1Api);
const crds = kc.makeApiClient(k8s.ApiextensionsV1Api);
const custom = kc.makeApiClient(k8s.CustomObjectsApi);
const objects = k8s.KubernetesObjectApi.makeApiClient(kc);
const as = (type) => k8s.setHeaderOptions('Content-Type', type);
const { JsonPatch, MergePatch, StrategicMergePatch, ServerSideApply } = k8s.PatchStrategy;

function text(body) {
  if (typeof body !== 'string') return body;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function failure(error) {
  if (error instanceof k8s.ApiException) {
    const { 'content-type': type, warning, 'retry-after': retry } = error.headers ?? {};
    return { raised: 'ApiException', code: error.code, body: text(error.body), message: String(error.message).split('\n').slice(0, 2), type, warning, retry };
  }
  return { raised: error?.constructor?.name, text: String(error?.message ?? error), code: error?.code ?? error?.statusCode };
}

// Does one thing, prints what came of it, and answers it (undefined when it failed).
async function step(name, make) {
  let said, shown;
  try {
    said = await make();
    shown = said ?? null;
  } catch (error) {
    shown = failure(error);
  }
  console.log(`${name}\t${JSON.stringify(shown)}`);
  return said;
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(what, found) {
  for (let n = 0; n < 300; n++) {
    try {
      if (await found()) return;
    } catch (error) {
      if (!(error instanceof k8s.ApiException)) throw error;
    }
    await sleep(50);
  }
  console.error(`waited in vain for ${what}`);
}

const widget = (name, spec = {}, meta = {}) => ({
  apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name, labels: { app: 'w' }, ...meta }, spec: { color: 'red', ...spec },
});

async function discovery() {
  await step('version major', async () => (await kc.makeApiClient(k8s.VersionApi).getCode()).major);
  await step('api versions', async () => (await kc.makeApiClient(k8s.CoreApi).getAPIVersions()).versions);
  await step('groups', () => kc.makeApiClient(k8s.ApisApi).getAPIVersions());
  await step('resources', () => core.getAPIResources());
  await step('batch resources', () => batch.getAPIResources());
  await step('health', async () => [await new k8s.Health(kc).readyz({}), await new k8s.Health(kc).livez({}), await new k8s.Health(kc).healthz({})]);
}

async function definitions() {
  const definition = k8s.loadYaml(readFileSync('widgets.yaml', 'utf8'));
  await step('crd', () => objects.create(definition));
  await until('the definition', async () => (await crds.readCustomResourceDefinition({ name: `widgets.${GROUP}` })).status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True'));
  await until('its resources', () => custom.listCustomObjectForAllNamespaces({ group: GROUP, version: 'v1', plural: 'widgets' }));
  await step('crd twice', () => crds.createCustomResourceDefinition({ body: definition }));
  await step('crd read', () => crds.readCustomResourceDefinition({ name: `widgets.${GROUP}` }));
  await step('crd no name', () => crds.readCustomResourceDefinition({ name: 'none' }));
}

async function customs() {
  await step('create', () => custom.createNamespacedCustomObject({ ...at, body: widget('one', { port: 'http', parts: [{ name: 'a' }], ratio: 1e21, until: '2020-01-01T00:00:00Z' }) }));
  await step('exists', () => custom.createNamespacedCustomObject({ ...at, body: widget('one') }));
  await step('invalid', () => custom.createNamespacedCustomObject({ ...at, body: widget('bad', { color: 'pink', replicas: 1.5, until: 'today' }) }));
  await step('huge number', () => custom.createNamespacedCustomObject({ ...at, body: widget('bad', { replicas: 2 ** 53 }) }));
  await step('strict', () => custom.createNamespacedCustomObject({ ...at, body: widget('bad', { extra: 1 }), fieldValidation: 'Strict' }));
  await step('warned', async () => {
    let warning;
    const later = (value) => ({ toPromise: async () => value });
    const tell = { pre: (c) => later(c), post: (c) => ((warning = c.headers.warning), later(c)) };
    const said = await custom.createNamespacedCustomObject({ ...at, body: widget('warned', { extra: 1 }), fieldValidation: 'Warn' }, { middleware: [tell], middlewareMergeStrategy: 'append' });
    return { warning, said };
  });
  await step('dry', () => custom.createNamespacedCustomObject({ ...at, body: widget('dry'), dryRun: 'All', fieldManager: 'tester' }));
  await step('get', () => custom.getNamespacedCustomObject({ ...at, name: 'one' }));
  await step('get none', () => custom.getNamespacedCustomObject({ ...at, name: 'dry' }));
  await step('merge', () => custom.patchNamespacedCustomObject({ ...at, name: 'one', body: { spec: { color: 'blue', ratio: null } } }, as(MergePatch)));
  await step('json patch', () => custom.patchNamespacedCustomObject({ ...at, name: 'one', body: [{ op: 'add', path: '/spec/names', value: ['a', 'b'] }, { op: 'copy', from: '/spec/color', path: '/metadata/annotations', value: 1 }] }, as(JsonPatch)));
  await step('json patch right', () => custom.patchNamespacedCustomObject({ ...at, name: 'one', body: [{ op: 'add', path: '/spec/names', value: ['a', 'b'] }, { op: 'move', from: '/spec/until', path: '/spec/free', value: 1 }] }, as(JsonPatch)));
  await step('json patch moved', () => custom.patchNamespacedCustomObject({ ...at, name: 'one', body: [{ op: 'add', path: '/spec/names', value: ['a', 'b'] }, { op: 'remove', path: '/spec/until' }] }, as(JsonPatch)));
  await step('strategic', () => custom.patchNamespacedCustomObject({ ...at, name: 'one', body: { spec: {} } }, as(StrategicMergePatch)));
  await step('no patch type', () => custom.patchNamespacedCustomObject({ ...at, name: 'one', body: { spec: { limit: 11 } } }));
  await step('apply', () => custom.patchNamespacedCustomObject({ ...at, name: 'ssa', body: widget('ssa', { replicas: 2, names: ['x'] }), fieldManager: 'first' }, as(ServerSideApply)));
  await step('apply conflict', () => custom.patchNamespacedCustomObject({ ...at, name: 'ssa', body: widget('ssa', { replicas: 3, names: ['y'] }), fieldManager: 'second' }, as(ServerSideApply)));
  await step('apply forced', () => custom.patchNamespacedCustomObject({ ...at, name: 'ssa', body: widget('ssa', { replicas: 3, names: ['y'] }), fieldManager: 'second', force: true }, as(ServerSideApply)));
  await step('apply no manager', () => custom.patchNamespacedCustomObject({ ...at, name: 'ssa', body: widget('ssa') }, as(ServerSideApply)));
  await step('force alone', () => custom.patchNamespacedCustomObject({ ...at, name: 'ssa', body: { spec: {} }, force: true }, as(MergePatch)));
  await step('status', () => custom.patchNamespacedCustomObjectStatus({ ...at, name: 'one', body: { status: { replicas: 1, ready: true } } }, as(MergePatch)));
  await step('scale', () => custom.getNamespacedCustomObjectScale({ ...at, name: 'one' }));
  await step('scaled', () => custom.patchNamespacedCustomObjectScale({ ...at, name: 'one', body: { spec: { replicas: 5 } } }, as(MergePatch)));
  const stale = await custom.getNamespacedCustomObject({ ...at, name: 'one' });
  await step('replace', () => custom.replaceNamespacedCustomObject({ ...at, name: 'one', body: { ...stale, spec: { ...stale.spec, token: 'abc' } } }));
  await step('replace stale', () => custom.replaceNamespacedCustomObject({ ...at, name: 'one', body: stale }));
  await step('list', () => custom.listNamespacedCustomObject({ ...at, labelSelector: 'app=w', limit: 2 }));
  await step('list field', async () => (await custom.listNamespacedCustomObject({ ...at, fieldSelector: 'spec.color=blue' })).items.map((w) => w.metadata.name));
  await step('list wrong', () => custom.listNamespacedCustomObject({ ...at, fieldSelector: 'spec.limit=1' }));
}

async function generic() {
  await step('object create', () => objects.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' }, data: { a: 'b' }, binaryData: { b: 'AAEC' } }));
  await step('object read', () => objects.read({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' } }));
  await step('object patch', () => objects.patch({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' }, data: { c: 'd' } }));
  await step('object merge', () => objects.patch({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' }, data: { c: null } }, undefined, undefined, 'me', undefined, MergePatch));
  await step('object apply', () => objects.patch({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' }, data: { a: 'c' } }, undefined, undefined, 'me', false, ServerSideApply));
  await step('object forced', () => objects.patch({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' }, data: { a: 'c' } }, undefined, undefined, 'me', true, ServerSideApply));
  await step('object replace', () => objects.replace({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' }, data: { z: 'z' } }));
  await step('object list', async () => (await objects.list('v1', 'ConfigMap', 'default')).items.map((o) => [o.kind, o.metadata.name]));
  await step('object custom', () => objects.create(widget('obj', { color: 'green' })));
  await step('object custom read', () => objects.read({ apiVersion: `${GROUP}/v1`, kind: 'Widget', metadata: { name: 'obj', namespace: 'default' } }));
  await step('object of no kind', () => objects.create({ apiVersion: `${GROUP}/v1`, kind: 'Gadget', metadata: { name: 'g' } }));
  await step('object delete', () => objects.delete({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' } }));
  await step('object delete none', () => objects.delete({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o' } }));
  const many = k8s.loadAllYaml('apiVersion: v1\nkind: Namespace\nmetadata: {name: nodes}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: nodes}\nspec: {selector: {a: b}, ports: [{port: 80, targetPort: web}]}\n');
  for (const it of many) await step(`object of yaml ${it.kind}`, () => objects.create(it));
}

async function builtins() {
  await step('secret', () => core.createNamespacedSecret({ ...ns, body: { metadata: { name: 's' }, stringData: { a: 'ü' } } }));
  const labels = { a: '1' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }], resources: { requests: { cpu: '0.5', memory: '1e3' } } }] } };
  await step('deployment', () => apps.createNamespacedDeployment({ ...ns, body: { metadata: { name: 'd' }, spec: { replicas: 1, selector: { matchLabels: labels }, template } } }));
  await step('deployment bad', () => apps.createNamespacedDeployment({ ...ns, body: { metadata: { name: 'e' }, spec: { selector: { matchLabels: { b: '1' } }, template } } }));
  await step('deployment patched', () => apps.patchNamespacedDeployment({ ...ns, name: 'd', body: { spec: { template: { spec: { containers: [{ name: 'c', image: 'j' }] } } } } }, as(StrategicMergePatch)));
  await step('deployment json', () => apps.patchNamespacedDeployment({ ...ns, name: 'd', body: [{ op: 'replace', path: '/spec/replicas', value: 3 }] }, as(JsonPatch)));
  await step('deployment applied', () => apps.patchNamespacedDeployment({ ...ns, name: 'd', fieldManager: 'js', body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, spec: { replicas: 4 } } }, as(ServerSideApply)));
  await step('deployment scale', () => apps.readNamespacedDeploymentScale({ ...ns, name: 'd' }));
  await step('deployment scaled', () => apps.replaceNamespacedDeploymentScale({ ...ns, name: 'd', body: { metadata: { name: 'd', namespace: 'default' }, spec: { replicas: 7 } } }));
  const got = await apps.readNamespacedDeployment({ ...ns, name: 'd' });
  await step('dates', () => [got.metadata.creationTimestamp instanceof Date, got.spec.template.spec.containers[0].resources.requests]);
  got.metadata.annotations = { x: 'y' };
  await step('deployment replaced', () => apps.replaceNamespacedDeployment({ ...ns, name: 'd', body: got }));
  await step('deployment stale', () => apps.replaceNamespacedDeployment({ ...ns, name: 'd', body: got }));
  await step('int or string', () => core.createNamespacedService({ ...ns, body: { metadata: { name: 'svc' }, spec: { ports: [{ name: 'a', port: 1, targetPort: 8080 }, { name: 'b', port: 2, targetPort: 'web' }] } } }));
  await step('job', () => batch.createNamespacedJob({ ...ns, body: { metadata: { name: 'j' }, spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } } } }));
  await step('lease', () => kc.makeApiClient(k8s.CoordinationV1Api).createNamespacedLease({ ...ns, body: { metadata: { name: 'l' }, spec: { holderIdentity: 'me', renewTime: new k8s.V1MicroTime('2020-01-01T00:00:00.123456Z') } } }));
  await step('event', () => core.createNamespacedEvent({ ...ns, body: { metadata: { name: 'e' }, involvedObject: { kind: 'ConfigMap', name: 'o', namespace: 'default' }, reason: 'R', type: 'Warning', firstTimestamp: new Date('2020-01-01T00:00:00Z'), eventTime: new k8s.V1MicroTime('2020-01-01T00:00:00.000001Z'), reportingComponent: 'c', reportingInstance: 'i', action: 'A' } }));
  await step('events', async () => (await kc.makeApiClient(k8s.EventsV1Api).listNamespacedEvent({ ...ns })).items.map((e) => [e.reason, e.reportingController, e.regarding?.name]));
  await step('pod', () => core.createNamespacedPod({ ...ns, body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } } }));
  await step('log', () => core.readNamespacedPodLog({ ...ns, name: 'p' }));
  await step('evict', () => core.createNamespacedPodEviction({ ...ns, name: 'p', body: { metadata: { name: 'p' } } }));
  await step('quota', () => core.createNamespacedResourceQuota({ ...ns, body: { metadata: { name: 'q' }, spec: { hard: { 'count/secrets': '1' } } } }));
  await step('quota hit', () => core.createNamespacedSecret({ ...ns, body: { metadata: { name: 't' } } }));
  await step('quota gone', () => core.deleteNamespacedResourceQuota({ ...ns, name: 'q' }));
}

async function lists() {
  for (let n = 0; n < 5; n++) await core.createNamespacedConfigMap({ namespace: 'nodes', body: { metadata: { name: `c${n}`, labels: { odd: String(n % 2) } }, data: { n: String(n) } } });
  const pages = [];
  let token;
  do {
    const page = await core.listNamespacedConfigMap({ namespace: 'nodes', limit: 2, _continue: token });
    token = page.metadata._continue;
    pages.push([page.items.map((c) => c.metadata.name), page.metadata.remainingItemCount, Boolean(token)]);
  } while (token);
  await step('pages', () => pages);
  await step('page wrong', () => core.listNamespacedConfigMap({ namespace: 'nodes', limit: 2, _continue: 'eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ' }));
  await step('list odd', () => core.listNamespacedConfigMap({ namespace: 'nodes', labelSelector: 'odd in (1)' }));
  await step('list bad', () => core.listNamespacedConfigMap({ namespace: 'nodes', labelSelector: 'odd in (1' }));
  await step('list far', () => core.listNamespacedConfigMap({ namespace: 'nodes', resourceVersion: '1', resourceVersionMatch: 'Exact' }));
  await step('table', () => core.listNamespacedConfigMap({ namespace: 'nodes' }, k8s.setHeaderOptions('Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io')));
}

async function watches() {
  const watch = new k8s.Watch(kc);
  const listed = await core.listNamespacedConfigMap({ namespace: 'nodes' });
  await core.patchNamespacedConfigMap({ namespace: 'nodes', name: 'c0', body: { metadata: { labels: { odd: '1' } } } }, as(MergePatch));
  await core.deleteNamespacedConfigMap({ namespace: 'nodes', name: 'c1' });
  await core.createNamespacedConfigMap({ namespace: 'nodes', body: { metadata: { name: 'c9' } } });
  const seen = (path, query, count = 99) => new Promise((done) => {
    const got = [];
    let aborter;
    watch.watch(path, { timeoutSeconds: 2, ...query }, (type, it, whole) => {
      got.push([type, it?.metadata?.name ?? it, Object.keys(whole).sort()]);
      if (got.length === count) aborter?.abort();
    }, (error) => done({ got, error: error ? [error.constructor.name, String(error.message), error.statusCode] : null })).then((a) => { aborter = a; if (got.length >= count) a.abort(); }, (error) => done(failure(error)));
  });
  const path = '/api/v1/namespaces/nodes/configmaps';
  await step('watch', () => seen(path, { resourceVersion: listed.metadata.resourceVersion }));
  await step('watch labels', () => seen(path, { resourceVersion: listed.metadata.resourceVersion, labelSelector: 'odd=0' }));
  await step('watch field', () => seen(path, { resourceVersion: listed.metadata.resourceVersion, fieldSelector: 'metadata.name=c1' }));
  await step('watch old', () => seen(path, { resourceVersion: '1' }));
  await step('watch wrong', () => seen(path, { resourceVersion: 'x' }));
  await step('watch initial', async () => (await seen(path, { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: true })).got.map((e) => e.slice(0, 2)));
  await step('watch none', () => seen('/api/v1/namespaces/nodes/nothing', {}));
  await step('watch widgets', async () => (await seen(`/apis/${GROUP}/v1/widgets`, { fieldSelector: 'spec.color=red' })).got.map((e) => e.slice(0, 2)));
}

async function informers() {
  const seen = [];
  let wake = () => {};
  const informer = k8s.makeInformer(kc, `/apis/${GROUP}/v1/namespaces/default/widgets`, async () => custom.listNamespacedCustomObject(at), 'app=w');
  for (const kind of ['add', 'update', 'delete']) {
    informer.on(kind, (it) => {
      seen.push([kind, it.metadata.name]);
      wake();
    });
  }
  informer.on('error', (error) => seen.push(['error', String(error?.message)]));
  const wait = async (count) => {
    for (let n = 0; n < 200 && seen.length < count; n++) {
      await Promise.race([new Promise((done) => (wake = done)), sleep(100)]);
    }
    return seen.length >= count;
  };
  const there = (await custom.listNamespacedCustomObject(at)).items.length;
  await informer.start();
  await step('informer starts', () => wait(there));
  await custom.createNamespacedCustomObject({ ...at, body: widget('inf') });
  await step('informer adds', () => wait(there + 1));
  await custom.patchNamespacedCustomObject({ ...at, name: 'inf', body: { spec: { limit: 12 } } }, as(MergePatch));
  await step('informer updates', () => wait(there + 2));
  await custom.deleteNamespacedCustomObject({ ...at, name: 'inf' });
  await step('informer deletes', () => wait(there + 3));
  await informer.stop();
  await step('informer saw', () => [...seen.slice(0, there).sort(), ...seen.slice(there)]);
  await step('informer lists', () => informer.list('default').map((w) => w.metadata.name).sort());
}

async function removals() {
  await step('hold', () => custom.patchNamespacedCustomObject({ ...at, name: 'one', body: { metadata: { finalizers: ['a.b/c'] } } }, as(MergePatch)));
  await step('delete held', () => custom.deleteNamespacedCustomObject({ ...at, name: 'one', propagationPolicy: 'Foreground' }));
  await step('delete held again', () => custom.deleteNamespacedCustomObject({ ...at, name: 'one', body: { gracePeriodSeconds: 0 } }));
  await step('let go', () => custom.patchNamespacedCustomObject({ ...at, name: 'one', body: [{ op: 'remove', path: '/metadata/finalizers' }] }, as(JsonPatch)));
  await step('delete wrong', () => apps.deleteNamespacedDeployment({ ...ns, name: 'd', propagationPolicy: 'No' }));
  await step('delete precondition', () => apps.deleteNamespacedDeployment({ ...ns, name: 'd', body: { preconditions: { uid: 'x' } } }));
  await step('delete', () => apps.deleteNamespacedDeployment({ ...ns, name: 'd' }));
  await step('delete many', () => core.deleteCollectionNamespacedConfigMap({ namespace: 'nodes', labelSelector: 'odd' }));
  await step('delete namespace', () => core.deleteNamespace({ name: 'nodes' }));
}

async function who() {
  const authn = kc.makeApiClient(k8s.AuthenticationV1Api);
  const authz = kc.makeApiClient(k8s.AuthorizationV1Api);
  await step('self', () => authn.createSelfSubjectReview({ body: {} }));
  await core.createNamespacedServiceAccount({ ...ns, body: { metadata: { name: 'sa' } } });
  const token = await core.createNamespacedServiceAccountToken({ ...ns, name: 'sa', body: { spec: { audiences: ['https://localhost'], expirationSeconds: 600 } } });
  await step('token', () => [token.spec, token.status.token.split('.').length, token.status.expirationTimestamp instanceof Date]);
  await step('review', async () => (await authn.createTokenReview({ body: { spec: { token: token.status.token } } })).status.user.username);
  const other = new k8s.KubeConfig();
  other.loadFromOptions({ clusters: kc.clusters, users: [{ name: 'sa', token: token.status.token }], contexts: [{ name: 'c', cluster: kc.clusters[0].name, user: 'sa' }], currentContext: 'c' });
  await step('as account', () => other.makeApiClient(k8s.CoreV1Api).listNamespacedSecret(ns));
  await step('as account create', () => other.makeApiClient(k8s.CustomObjectsApi).createNamespacedCustomObject({ ...at, body: widget('x') }));
  other.loadFromOptions({ clusters: kc.clusters, users: [{ name: 'sa', token: 'wrong' }], contexts: [{ name: 'c', cluster: kc.clusters[0].name, user: 'sa' }], currentContext: 'c' });
  await step('as nobody', () => other.makeApiClient(k8s.CoreV1Api).listNamespacedSecret(ns));
  other.loadFromOptions({ clusters: kc.clusters, users: [{ ...kc.users[0], impersonateUser: 'eve' }], contexts: [{ name: 'c', cluster: kc.clusters[0].name, user: kc.users[0].name }], currentContext: 'c' });
  await step('as eve', () => other.makeApiClient(k8s.AuthenticationV1Api).createSelfSubjectReview({ body: {} }));
  await step('as eve secrets', () => other.makeApiClient(k8s.CoreV1Api).listNamespacedSecret(ns));
  await step('can i', async () => (await authz.createSelfSubjectAccessReview({ body: { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } } })).status);
  await step('can they', async () => (await authz.createNamespacedLocalSubjectAccessReview({ ...ns, body: { metadata: { namespace: 'default' }, spec: { user: 'eve', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } } } })).status);
}

for (const chapter of [discovery, definitions, customs, generic, builtins, lists, watches, informers, removals, who]) await step(`chapter ${chapter.name}`, chapter);
await step('crd deleted', async () => (await crds.deleteCustomResourceDefinition({ name: `widgets.${GROUP}` })).status);
process.exit(0);
