import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { listKeys } from '../../../src/account/api_key.ts'
import { CLI_ACTOR, listAudit } from '../../../src/account/audit.ts'
import { setOrganizationState } from '../../../src/account/organization.ts'
import { createLoginLink, endSessions, openSession } from '../../../src/account/session.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createAccount, readBooks } from '../../support/account/scene.ts'
import { caseCount } from '../../support/cases.ts'
import type { ClientRequest } from '../../support/client.ts'
import { testDatabase } from '../../support/database.ts'
import { findMismatches } from '../../support/json_schema.ts'
import {
  type Browser,
  DEAD_CHAIN,
  ORIGIN,
  openBrowser,
  openProcess,
  type Process,
  TOKEN,
  useLink,
  withToken,
} from '../../support/operator/scene.ts'
import { parseSignedIn } from '../../support/signed_in.ts'
import { slowClock } from '../../support/test_clock.ts'
import { waitFor } from '../../support/wait_for.ts'

let url: string
let db: Database
let otherDb: Database
let one: Process
/** What a second process would be. */
let other: Process
let operator: Browser

beforeAll(async () => {
  const database = await testDatabase()
  url = database.url
  db = database.db
  otherDb = openDatabase({ url: database.url, clock: slowClock, log: silentLog })
  one = await openProcess(db)
  other = await openProcess(otherDb)
  operator = await openBrowser(db, one.ask, null)
}, 60_000)

afterAll(async () => {
  await one.close()
  await other.close()
  await otherDb.close()
}, 60_000)

/** Every route of a plane as its own document lists it, with parameters filled in. */
async function listOperations(prefix: string): Promise<{ readonly method: string; readonly path: string }[]> {
  const { body } = await one.ask(`${prefix}/openapi.json`)
  const operations = Object.entries<object>(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, 'some_id') })),
  )
  expect(operations.length).toBeGreaterThan(6)
  return operations
}

async function auditTotal(): Promise<number> {
  return (await listAudit(db, { organizationId: null, page: 1, limit: 1 })).total
}

describe('credentials', () => {
  test('no route of either plane answers without a credential, or with that of another plane', async () => {
    const { organizationId, key } = await createAccount(db)
    const organization = await openBrowser(db, one.ask, organizationId)
    const ended = await openBrowser(db, one.ask, organizationId)
    await ended.send('DELETE', '/dashboard/v1/session')
    const endedOperator = await openBrowser(db, one.ask, null)
    await endedOperator.send('DELETE', '/admin/v1/session')
    const expired = await openBrowser(db, one.ask, organizationId)
    const expiredOperator = await openBrowser(db, one.ask, null)
    await db.run(
      `update session set expires_at = now() where hash = any (array[sha256($1::bytea), sha256($2::bytea)])`,
      [Buffer.from(expired.value), Buffer.from(expiredOperator.value)],
    )
    const { secret: link } = await createLoginLink(db, { organizationId, by: CLI_ACTOR })
    const names = { '/admin/v1': 'walletscope_operator', '/dashboard/v1': 'walletscope_session' } as const
    const before = await auditTotal()
    let tried = 0

    for (const prefix of ['/admin/v1', '/dashboard/v1'] as const) {
      const name = names[prefix]
      const isAdmin = prefix === '/admin/v1'
      const [mine, theirs] = isAdmin ? [operator, organization] : [organization, operator]
      const whole = (browser: Browser) => ({ cookie: `${name}=${browser.value}`, 'x-session-page': browser.secret })
      const cookies = [
        ...['', `${name}=`, `${name}=x`, `${name}=${mine.value.slice(0, -1)}`, `${name}=${mine.value}x`],
        ...[`${name}=${link}`, `${mine.cookie}; ${mine.cookie}`],
        // The other plane's name for a session is nothing here.
        `${isAdmin ? names['/dashboard/v1'] : names['/admin/v1']}=${mine.value}`,
      ]
      const secrets = [
        ...['', 'x', mine.secret.slice(0, -1), `${mine.secret}x`, mine.value, theirs.secret, link],
        `${mine.secret.slice(0, -1)}${mine.secret.endsWith('a') ? 'b' : 'a'}`,
        // Of the same owner, but another session.
        isAdmin ? expiredOperator.secret : expired.secret,
      ]
      const headers: Record<string, string>[] = [
        {},
        ...[theirs, ...(isAdmin ? [endedOperator, expiredOperator] : [ended, expired])].map(whole),
        ...cookies.map((cookie) => ({ cookie, 'x-session-page': mine.secret })),
        // Whatever listens on another port of the host is sent the cookie.
        { cookie: mine.cookie },
        { 'x-session-page': mine.secret },
        ...secrets.map((secret) => ({ cookie: mine.cookie, 'x-session-page': secret })),
        ...['Bearer', 'Bearer ', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(0, -1)}`, `Basic ${TOKEN}`, TOKEN].map(
          (authorization) => ({ authorization }),
        ),
        // A key is not a token, and a wrong token is not helped by a right session.
        ...[{ authorization: `Bearer ${key}` }, { authorization: 'Bearer wrong-token-of-mine', ...mine.headers }],
        ...(prefix === '/dashboard/v1' ? [{ authorization: `Bearer ${TOKEN}` }] : []),
      ]
      for (const { method, path } of await listOperations(prefix)) {
        for (const each of headers) {
          const request: ClientRequest = { method, headers: { origin: ORIGIN, ...each } }
          const answer = await one.ask(path, request)
          tried++
          expect({ path, each, status: answer.status, code: answer.body?.error?.code }).toEqual({
            path,
            each,
            status: 401,
            code: 'INVALID_API_KEY',
          })
        }
      }
      // Unknown paths tell nothing either.
      expect((await one.ask(`${prefix}/nothing`)).status).toBe(401)
    }
    expect(tried).toBeGreaterThan(500)
    expect(await auditTotal()).toBe(before)
  }, 60_000)

  test('a name that is not the service’s opens nothing, not even what needs no credential', async () => {
    for (const path of ['/admin/v1/settings', '/admin/v1/openapi.json', '/dashboard/v1/openapi.json', '/login']) {
      const answer = await one.ask(path, { key: TOKEN, headers: { host: 'evil.example' } })
      expect([path, answer.status, answer.body.error.code]).toEqual([path, 400, 'INVALID_REQUEST'])
      expect(answer.body.error.message).toContain('ALLOWED_HOSTS')
    }
  })

  test('without ADMIN_TOKEN no token opens the plane, a session does', async () => {
    const closed = await openProcess(db, { ADMIN_TOKEN: '' })
    for (const key of [TOKEN, 'undefined', 'null', '']) {
      expect((await closed.ask('/admin/v1/settings', { key })).status).toBe(401)
    }
    expect((await closed.ask('/admin/v1/settings', { headers: operator.headers })).status).toBe(200)
    await closed.close()
  })

  test('a session changes nothing for a page of another origin; a token has no such page', async () => {
    const { organizationId } = await createAccount(db)
    const organization = await openBrowser(db, one.ask, organizationId)
    const before = await auditTotal()
    const origins = [
      'http://evil.test',
      'https://test.local.evil.test',
      'null',
      'http://test.local:81',
      'test.local',
      '',
    ]
    let refused = 0
    for (const [prefix, session] of [
      ['/admin/v1', operator],
      ['/dashboard/v1', organization],
    ] as const) {
      for (const { method, path } of await listOperations(prefix)) {
        for (const origin of [undefined, ...origins]) {
          const headers = { ...session.headers, ...(origin === undefined ? {} : { origin }) }
          const answer = await one.ask(path, { method, headers })
          if (method === 'GET') expect([path, [200, 404].includes(answer.status)]).toEqual([path, true])
          else {
            refused++
            expect([method, path, origin, answer.status]).toEqual([method, path, origin, 403])
          }
        }
      }
    }
    expect(refused).toBeGreaterThan(80)
    expect(await auditTotal()).toBe(before)
    const answer = await one.ask('/admin/v1/organizations', {
      method: 'POST',
      key: TOKEN,
      headers: { origin: 'http://evil.test', 'content-type': 'application/json' },
      body: '{"name":"by token"}',
    })
    expect(answer.status).toBe(201)
    // No answer of a plane may be read by another origin.
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('the public address counts as our own origin', async () => {
    const process = await openProcess(db, { PUBLIC_URL: 'https://api.example.org/scope' })
    const { secret } = await createLoginLink(db, { organizationId: null, by: CLI_ACTOR })
    const answer = await useLink(process.ask, secret, { origin: 'https://api.example.org' })
    expect(answer.status).toBe(200)
    const cookie = answer.headers.get('set-cookie') ?? ''
    expect(cookie).toContain('Path=/scope/admin/v1;')
    expect(cookie).toEndWith('; HttpOnly; SameSite=Strict; Secure')
    expect((await useLink(process.ask, secret, { origin: 'https://api.example.org:444' })).status).toBe(403)
    await process.close()
  })
})

describe('sessions', () => {
  test('a link shows a page that uses nothing up; its form opens one session', async () => {
    const { organizationId } = await createAccount(db)
    const { secret } = await createLoginLink(db, { organizationId, by: CLI_ACTOR })
    for (let look = 0; look < 3; look++) {
      const page = await one.ask(`/login?${secret}`)
      expect(page.status).toBe(200)
      expect(page.text).toContain(`name="link" value="${secret}"`)
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    }
    expect((await one.ask('/login?%22%3E%3Cscript%3E')).text).not.toContain('script')
    expect((await one.ask('/login', { method: 'PUT' })).status).toBe(405)
    expect((await one.ask('/login/x')).status).toBe(404)

    const opened = await useLink(one.ask, secret)
    const setCookie = opened.headers.get('set-cookie') ?? ''
    const session = parseSignedIn({ setCookie, text: opened.text })
    expect([opened.status, session.page, session.secret]).toEqual([200, 'usage', expect.stringMatching(/^ws_page_/)])
    expect(setCookie).toMatch(
      /^walletscope_session=ws_session_[0-9A-Za-z]{32}; Path=\/dashboard\/v1; Max-Age=604(?:800|7\d\d); HttpOnly; SameSite=Strict$/,
    )
    const again = await useLink(one.ask, secret)
    expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null])
    const whose = await one.ask('/dashboard/v1/session', { headers: session.headers })
    expect(whose.body.data).toEqual({ by: 'session', organization_id: organizationId })
  })

  test('of many concurrent uses of a link, over two processes, one gets a session', async () => {
    for (let round = 0; round < 5; round++) {
      const { secret } = await createLoginLink(db, { organizationId: null, by: CLI_ACTOR })
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, at) => useLink([one, other][at % 2]?.ask ?? one.ask, secret)),
      )
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(11).fill(401)])
    }
  })

  test('a cookie of the browser is never reused as the secret, and only hashes are stored', async () => {
    const { secret } = await createLoginLink(db, { organizationId: null, by: CLI_ACTOR })
    const planted = `ws_session_${'A'.repeat(32)}`
    const answer = await useLink(one.ask, secret, { cookie: `walletscope_operator=${planted}` })
    const session = parseSignedIn({ setCookie: answer.headers.get('set-cookie'), text: answer.text })
    expect(session.cookie).not.toContain(planted)
    const asPlanted = await one.ask('/admin/v1/session', {
      headers: { ...session.headers, cookie: `walletscope_operator=${planted}` },
    })
    expect(asPlanted.status).toBe(401)
    const stored = await db.run(`select s::text as row from session s union all select l::text from login_link l`, [])
    const audit = (await listAudit(db, { organizationId: null, page: 1, limit: 100 })).items
    for (const hidden of [session.value, session.secret, secret]) {
      expect(JSON.stringify([stored, audit])).not.toContain(hidden)
    }
  })

  test('a link that is too old, or whose organization is gone, opens nothing', async () => {
    const { secret } = await createLoginLink(db, { organizationId: null, by: CLI_ACTOR })
    await db.run('update login_link set expires_at = now() where organization_id is null', [])
    expect(await openSession(db, secret)).toBeUndefined()
    const { organizationId } = await createAccount(db)
    const late = await createLoginLink(db, { organizationId, by: CLI_ACTOR })
    await setOrganizationState(db, 'delete', { id: organizationId, by: CLI_ACTOR })
    expect(await openSession(db, late.secret)).toBeUndefined()
    const refused = await createLoginLink(db, { organizationId, by: CLI_ACTOR }).catch((error) => error)
    expect(refused).toMatchObject({ code: 'ORGANIZATION_NOT_FOUND' })
  })

  test('a session ends by signing out, by being revoked and with its organization, on every process', async () => {
    const { organizationId } = await createAccount(db)
    const status = async (browser: Browser) =>
      (await other.ask('/dashboard/v1/organization', { headers: browser.headers })).status
    const [left, revoked, kept] = await Promise.all([1, 2, 3].map(() => openBrowser(db, one.ask, organizationId)))
    if (left === undefined || revoked === undefined || kept === undefined) throw new Error('Not signed in')
    expect(await status(left)).toBe(200)
    const answer = await left.send('DELETE', '/dashboard/v1/session')
    expect(answer.headers.get('set-cookie')).toStartWith('walletscope_session=; Path=/dashboard/v1; Max-Age=0')
    expect([await status(left), await status(revoked)]).toEqual([401, 200])
    const { secret } = await createLoginLink(db, { organizationId, by: CLI_ACTOR })
    expect(await endSessions(otherDb, { organizationId, by: CLI_ACTOR })).toBe(2)
    expect([await status(revoked), (await useLink(one.ask, secret)).status]).toEqual([401, 401])
    const last = await openBrowser(db, one.ask, organizationId)
    // A suspended organization still sees what it has.
    await setOrganizationState(db, 'suspend', { id: organizationId, by: CLI_ACTOR })
    expect(await status(last)).toBe(200)
    await setOrganizationState(db, 'delete', { id: organizationId, by: CLI_ACTOR })
    expect(await status(last)).toBe(401)
  })
})

describe('the operator', () => {
  /** Sends a request over each credential in turn, and holds the answer to the plane's own document. */
  async function act(method: string, path: string, body?: unknown) {
    turn++
    const answer = await (turn % 2 === 0 ? operator.send(method, path, body) : withToken(one.ask, method, path, body))
    document ??= (await one.ask('/admin/v1/openapi.json')).body
    const [template] = Object.keys(document.paths).filter((each) =>
      new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`).test(path.split('?')[0] ?? ''),
    )
    const responses = document.paths[template ?? '']?.[method.toLowerCase()]?.responses
    const { content } = responses?.[answer.status] ?? {}
    if (answer.status < 300) {
      expect(findMismatches(content['application/json'].schema, answer.body, document)).toEqual([])
      seen.add(`${method} ${template}`)
    } else
      expect([path, answer.status, Object.keys(responses)]).toEqual([
        path,
        answer.status,
        expect.arrayContaining([String(answer.status)]),
      ])
    return answer
  }
  let turn = 0
  // biome-ignore lint/suspicious/noExplicitAny: a document is walked by the words that it itself names.
  let document: any
  const seen = new Set<string>()

  test('creates, changes and removes everything, and each change is in the audit list with its author', async () => {
    const from = await auditTotal()
    const { body: made, status } = await act('POST', '/admin/v1/organizations', { name: ' Äpfel ', rate_limit: 7 })
    expect(status).toBe(201)
    expect(made.data).toMatchObject({ name: 'Äpfel', rate_limit: 7, trigger_limit: 1_000, suspended_at: null })
    const { id } = made.data
    const path = `/admin/v1/organizations/${id}`
    expect((await act('GET', path)).body.data).toMatchObject({ id, balance: '0', granted: '0' })
    expect((await act('PATCH', path, { name: 'Birnen', rate_limit: 50 })).body.data).toMatchObject({
      name: 'Birnen',
      rate_limit: 50,
    })
    await act('PATCH', path, { name: 'Birnen' })
    const limited = { name: 'Birnen', rate_limit: 50, trigger_limit: 0 }
    expect((await act('PATCH', path, { trigger_limit: 0 })).body.data).toMatchObject(limited)
    expect((await act('GET', path)).body.data).toMatchObject(limited)
    expect((await act('POST', `${path}/grants`, { credits: 100, reason: 'Welcome' })).body.data).toMatchObject({
      balance: '100',
      granted: '100',
      grant: { credits: '100', reason: 'Welcome' },
    })
    await act('POST', `${path}/grants`, { credits: -40, reason: 'Too much' })
    const poor = await act('POST', `${path}/grants`, { credits: -61, reason: 'More' })
    expect([poor.status, poor.body.error.code]).toEqual([400, 'INVALID_PARAMETER'])
    expect((await act('GET', `${path}/grants?limit=1`)).body).toMatchObject({
      data: [{ credits: '-40' }],
      pagination: { total: 2, next_page: `http://test.local${path}/grants?limit=1&page=2` },
    })
    const { body: key } = await act('POST', `${path}/keys`, { name: 'main' })
    expect((await one.ask('/v1/usage/logs', { key: key.data.key })).status).toBe(200)
    const { body: rerolled } = await act('POST', `${path}/keys/${key.data.id}/reroll`, { grace_sec: 0 })
    expect((await other.ask('/v1/usage/logs', { key: key.data.key })).status).toBe(401)
    expect((await other.ask('/v1/usage/logs', { key: rerolled.data.key })).status).toBe(200)
    await act('DELETE', `${path}/keys/${rerolled.data.id}`)
    await act('DELETE', `${path}/keys/${rerolled.data.id}`)
    expect((await other.ask('/v1/usage/logs', { key: rerolled.data.key })).status).toBe(401)
    const listed = (await act('GET', `${path}/keys`)).body.data
    expect(listed.map((each: { readonly id: string }) => each.id)).toEqual([key.data.id, rerolled.data.id])
    expect(JSON.stringify(listed)).not.toContain(rerolled.data.key.slice(6, -4))

    await act('POST', `${path}/suspend`)
    await act('POST', `${path}/suspend`)
    for (const [method, where] of [
      ['POST', `${path}/keys`],
      ['POST', `${path}/keys/${key.data.id}/reroll`],
    ] as const) {
      const refused = await act(method, where, method === 'POST' && where.endsWith('keys') ? { name: 'more' } : {})
      expect([refused.status, refused.body.error.code]).toEqual([403, 'ACCOUNT_SUSPENDED'])
    }
    await act('POST', `${path}/restore`)
    const { body: link } = await act('POST', '/admin/v1/login-links', { organization_id: id })
    expect((await useLink(one.ask, link.data.path.split('?')[1])).status).toBe(200)
    await act('PUT', '/admin/v1/settings/switches', { name: 'snapshots', on: false })
    expect((await act('GET', '/admin/v1/settings')).body.data.switches).toContainEqual({
      kind: 'feature',
      name: 'snapshots',
      on: false,
      off_by: 'operator',
      off_at: expect.any(String),
    })
    await act('PUT', '/admin/v1/settings/switches', { name: 'snapshots', on: true })
    await act('DELETE', path)
    expect((await act('GET', path)).status).toBe(404)
    expect((await act('DELETE', path)).body.error.code).toBe('ORGANIZATION_NOT_FOUND')
    await act('GET', '/admin/v1/organizations?limit=25')
    await act('GET', '/admin/v1/session')
    await act('GET', '/admin/v1/chains')
    await act('GET', '/admin/v1/triggers')
    await act('GET', '/admin/v1/history')
    for (const by of ['path', 'key', 'status', 'organization']) await act('GET', `/admin/v1/usage?by=${by}&range=7d`)
    expect((await act('GET', '/admin/v1/chains')).body.data).toEqual([DEAD_CHAIN])

    const { body: audit } = await act('GET', '/admin/v1/audit?limit=25')
    const ours = audit.data.slice(0, (await auditTotal()) - from).reverse()
    expect(ours.map((each: { action: string; actor: string }) => `${each.action} by ${each.actor}`)).toEqual([
      'organization.create by token',
      'organization.update by token',
      'organization.update by token',
      'credits.grant by token',
      'credits.grant by operator session',
      'key.create by token',
      'key.reroll by operator session',
      'key.revoke by token',
      'organization.suspend by operator session',
      'organization.restore by operator session',
      'login_link.create by token',
      'session.open by organization session',
      'switch.off by operator session',
      'switch.on by operator session',
      'organization.delete by token',
    ])
    expect(ours[1].detail).toEqual({ name: { from: 'Äpfel', to: 'Birnen' }, rate_limit: { from: 7, to: 50 } })
    expect(ours[2].detail).toEqual({ trigger_limit: { from: 1_000, to: 0 } })
    const ofOne = await act('GET', `/admin/v1/audit?organization_id=${id}&limit=25`)
    expect(ofOne.body.pagination.total).toBe(13)
    expect(Object.keys(document.paths).length).toBeGreaterThan(10)
    const operations = (await listOperations('/admin/v1')).length
    // All but signing out, which would end the session that the test goes on with.
    expect(seen.size).toBe(operations - 1)
  }, 30_000)

  test('bad input is 400 and changes nothing', async () => {
    const { organizationId } = await createAccount(db)
    const path = `/admin/v1/organizations/${organizationId}`
    const before = await auditTotal()
    const bad: (readonly [string, string, unknown])[] = [
      ['POST', '/admin/v1/organizations', {}],
      ['POST', '/admin/v1/organizations', { name: '' }],
      ...['\u202e', '\u3164', 'A\u2800', 'A\ufe00', 'A\u{e0100}'].map(
        (name) => ['POST', '/admin/v1/organizations', { name }] as const,
      ),
      ['POST', '/admin/v1/organizations', { name: 'a'.repeat(101) }],
      ['POST', '/admin/v1/organizations', { name: 5 }],
      ['POST', '/admin/v1/organizations', { name: 'a', rate_limit: 0 }],
      ['POST', '/admin/v1/organizations', { name: 'a', rate_limit: '5' }],
      ['POST', '/admin/v1/organizations', { name: 'a', credits: 5 }],
      ['PATCH', path, {}],
      ['PATCH', path, { rate_limit: 1.5 }],
      ['PATCH', path, { trigger_limit: -1 }],
      ['PATCH', path, { trigger_limit: 100_001 }],
      ['POST', `${path}/grants`, { credits: 0, reason: 'r' }],
      ['POST', `${path}/grants`, { credits: 1e300, reason: 'r' }],
      ['POST', `${path}/grants`, { credits: 5 }],
      ['POST', `${path}/keys`, { name: 'k', expires_at: '2020-01-01T00:00:00Z' }],
      ['POST', `${path}/keys`, { name: 'k', expires_at: 'soon' }],
      ['POST', `${path}/keys`, { name: 'k', expires_at: '2999-02-30T00:00:00Z' }],
      ['POST', `${path}/keys/x/reroll`, { grace_sec: -1 }],
      ['PUT', '/admin/v1/settings/switches', { name: 'GET /v1/nothing', on: false }],
      ['PUT', '/admin/v1/settings/switches', { name: 'mcp', on: 'off' }],
      ['GET', '/admin/v1/audit?limit=26', undefined],
      ['GET', '/admin/v1/organizations?page=0', undefined],
    ]
    for (const [method, where, body] of bad) {
      const { status, body: answer } = await withToken(one.ask, method, where, body)
      expect([method, where, body, status, answer.error.code]).toEqual([
        ...[method, where, body, 400],
        expect.stringMatching(/^(INVALID|MISSING)_PARAMETER$/),
      ])
    }
    const large = await one.ask('/admin/v1/organizations', {
      method: 'POST',
      key: TOKEN,
      body: `{"name":"${'x'.repeat(300_000)}"}`,
      headers: { 'content-type': 'application/json' },
    })
    expect(large.status).toBe(413)
    expect((await withToken(one.ask, 'POST', '/admin/v1/audit', {})).status).toBe(405)
    expect(await auditTotal()).toBe(before)
  })

  test('its own port has the plane and the login, and the port of callers has neither', async () => {
    const apart = await openProcess(db, { OPERATOR_PORT: '9999' })
    expect((await withToken(apart.ask, 'GET', '/admin/v1/settings')).status).toBe(404)
    expect((await apart.ask('/admin/v1/openapi.json')).status).toBe(404)
    expect((await withToken(apart.askOperator, 'GET', '/admin/v1/settings')).status).toBe(200)
    expect((await apart.askOperator('/dashboard/v1/session')).status).toBe(404)
    expect((await apart.ask('/dashboard/v1/session')).status).toBe(401)
    const { secret } = await createLoginLink(db, { organizationId: null, by: CLI_ACTOR })
    expect((await useLink(apart.ask, secret)).status).toBe(403)
    expect((await useLink(apart.askOperator, secret)).status).toBe(200)
    await apart.close()
  })

  test("a link of an organization names the callers' address, and the operator's port does not use it up", async () => {
    const { organizationId } = await createAccount(db)
    const apart = await openProcess(db, { OPERATOR_PORT: '9999', PORT: '9998' })
    const { body } = await withToken(apart.askOperator, 'POST', '/admin/v1/login-links', {
      organization_id: organizationId,
    })
    const { path, url } = body.data
    expect(url).toBe(`http://test.local:9998${path}`)
    const secret = path.split('?')[1]
    expect((await useLink(apart.askOperator, secret)).status).toBe(403)
    expect((await useLink(apart.ask, secret)).status).toBe(200)
    await apart.close()
  })
})

describe('an organization', () => {
  test('sees its own credits, requests, latencies, log and keys, and no others', async () => {
    const mine = await createAccount(db, { credits: 500 })
    const theirs = await createAccount(db, { credits: 900 })
    const browser = await openBrowser(db, one.ask, mine.organizationId)
    const gateway = await openProcess(db)
    for (let call = 0; call < 3; call++)
      expect((await gateway.ask('/v1/usage/logs', { key: mine.key })).status).toBe(200)
    expect((await gateway.ask('/v1/usage/logs?page=x', { key: mine.key })).status).toBe(400)
    expect((await gateway.ask('/v1/usage/logs', { key: theirs.key })).status).toBe(200)
    expect((await gateway.ask('/v1/nowhere', { key: mine.key })).status).toBe(404)
    await gateway.close()
    // Nothing is folded while another process folds what was pending before.
    await waitFor('everything to be folded', async () => {
      await db.run('select request_rollup_fold()', [])
      return (await db.run('select from request_rollup_pending', [])).length === 0
    })

    const get = async (path: string) => {
      const answer = await browser.send('GET', `/dashboard/v1${path}`)
      const { body: document } = await one.ask('/dashboard/v1/openapi.json')
      const { schema } =
        document.paths[`/dashboard/v1${path.split('?')[0]}`].get.responses[200].content['application/json']
      expect([path, findMismatches(schema, answer.body, document)]).toEqual([path, []])
      return answer.body.data
    }
    const today = new Date().toISOString().slice(0, 10)
    expect(await get('/organization')).toMatchObject({
      id: mine.organizationId,
      balance: '497',
      granted: '500',
      // 3 credits in 7 days: 497 last 1,159 days.
      burn: [{ day: today, requests: '5', credits: '3' }],
      days_left: '1159',
    })
    const sums = async (by: string) =>
      Object.fromEntries(
        (await get(`/usage?by=${by}`)).rows.map((row: { name: string; requests: string }) => [row.name, row.requests]),
      )
    expect(await sums('path')).toEqual({ '/v1/usage/logs': '4', '': '1' })
    expect(await sums('status')).toEqual({ 200: '3', 400: '1', 404: '1' })
    expect(await sums('key')).toEqual({ [mine.apiKeyId]: '5' })
    expect((await get('/usage?range=90d')).step).toBe('day')
    expect((await get('/latency')).map((row: { path: string; requests: number }) => [row.path, row.requests])).toEqual([
      ['/v1/usage/logs', 4],
      ['', 1],
    ])
    const logs = await browser.send('GET', '/dashboard/v1/logs?errors=errors&limit=25')
    expect(logs.body.data.map((row: { status_code: number }) => row.status_code)).toEqual([404, 400])
    expect((await get('/keys')).map((row: { id: string }) => row.id)).toEqual([mine.apiKeyId])
    expect((await readBooks(db, mine.organizationId)).balance).toBe(497)

    // Objects of other organizations do not exist; a query names no organization.
    expect((await browser.send('DELETE', `/dashboard/v1/keys/${theirs.apiKeyId}`)).status).toBe(404)
    expect((await browser.send('POST', `/dashboard/v1/keys/${theirs.apiKeyId}/reroll`, {})).status).toBe(404)
    const query = `?organization_id=${theirs.organizationId}&api_key_id=${theirs.apiKeyId}`
    expect((await browser.send('GET', '/dashboard/v1/keys')).body.data).toHaveLength(1)
    const named = await browser.send('GET', `/dashboard/v1/keys${query}`)
    expect([named.status, named.body.error.message]).toEqual([
      400,
      'Unknown parameter "organization_id": this route takes "page", "limit"',
    ])
    expect((await browser.send('GET', `/dashboard/v1/logs?api_key_id=${theirs.apiKeyId}`)).body.data).toEqual([])
    expect((await browser.send('GET', `/dashboard/v1/usage${query}`)).status).toBe(400)
    expect((await browser.send('GET', '/dashboard/v1/usage')).body.data.rows.length).toBeGreaterThan(0)
  }, 30_000)

  test('creates, rerolls and revokes keys; a suspended one may not create another', async () => {
    const { organizationId } = await createAccount(db)
    const browser = await openBrowser(db, one.ask, organizationId)
    const made = await browser.send('POST', '/dashboard/v1/keys', { name: 'shop' })
    expect(made.status).toBe(201)
    const next = await browser.send('POST', `/dashboard/v1/keys/${made.body.data.id}/reroll`, { grace_sec: 60 })
    expect((await browser.send('DELETE', `/dashboard/v1/keys/${made.body.data.id}`)).status).toBe(200)
    expect((await other.ask('/v1/usage/logs', { key: made.body.data.key })).status).toBe(401)
    expect((await other.ask('/v1/usage/logs', { key: next.body.data.key })).status).toBe(200)
    await setOrganizationState(db, 'suspend', { id: organizationId, by: CLI_ACTOR })
    for (const path of ['/dashboard/v1/keys', `/dashboard/v1/keys/${next.body.data.id}/reroll`]) {
      const refused = await browser.send('POST', path, path.endsWith('keys') ? { name: 'more' } : {})
      expect([refused.status, refused.body.error.code]).toEqual([403, 'ACCOUNT_SUSPENDED'])
    }
    expect((await listKeys(db, { organizationId, page: 1, limit: 25 })).total).toBe(3)
    const { items } = await listAudit(db, { organizationId, page: 1, limit: 5 })
    expect(items.filter(({ actor }) => actor === 'organization session').map(({ action }) => action)).toEqual([
      ...['key.revoke', 'key.reroll', 'key.create', 'session.open'],
    ])
  })
})

test('no request with a valid credential makes the service fail', async () => {
  const { organizationId, apiKeyId } = await createAccount(db)
  const browser = await openBrowser(db, one.ask, organizationId)
  const odd = fc.constantFrom(
    organizationId,
    apiKeyId,
    'some_id',
    '%00',
    '%ff',
    '%F0%9F%A6%8A',
    "';--",
    'a'.repeat(300),
  )
  const fields = [
    'name',
    'rate_limit',
    'trigger_limit',
    'credits',
    'reason',
    'on',
    'grace_sec',
    'organization_id',
    'allowed_networks',
  ]
  const body = fc.oneof(
    fc
      .dictionary(fc.constantFrom(...fields, 'expires_at', '__proto__'), fc.jsonValue({ maxDepth: 2 }))
      .map((each) => JSON.stringify(each)),
    fc.constantFrom(
      '',
      '{',
      '[]',
      'null',
      '{"name":"\\u0000"}',
      '{"name":"\\ud800"}',
      '{"credits":1e400,"reason":"r"}',
    ),
  )
  const operations = [...(await listOperations('/admin/v1')), ...(await listOperations('/dashboard/v1'))].filter(
    ({ path }) => !path.endsWith('/session'),
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...operations), odd, odd, body, async ({ method, path }, first, second, sent) => {
      const filled = path.replace('some_id', first).replace('some_id', second)
      const isRead = method === 'GET'
      const answer = await one.ask(isRead ? `${filled}?page=2&organization_id=${second}` : filled, {
        method,
        headers: path.startsWith('/admin')
          ? { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
          : { ...browser.headers, origin: ORIGIN, 'content-type': 'application/json' },
        ...(isRead ? {} : { body: sent }),
      })
      expect([method, filled, sent, answer.status < 500]).toEqual([method, filled, sent, true])
      if (answer.status >= 400)
        expect(answer.body.error).toMatchObject({ code: expect.any(String), message: expect.any(String) })
    }),
    { numRuns: caseCount(400) },
  )
}, 30_000)

/** A key of advisory locks that the service does not use. */
const PASSAGE = 5_250
/** Blocks the writing of entries while the lock is held. */
const HOLD = [
  `create function hold() returns trigger language plpgsql as
   $$ begin perform pg_advisory_xact_lock_shared(${PASSAGE}); return new; end $$`,
  'create trigger hold before insert on audit_entry for each row execute function hold()',
]
/** Waits for a change that is about to write its entry, and ends its session there. */
const KILL_BETWEEN = `do $$
declare victim integer;
begin
  perform pg_advisory_xact_lock(${PASSAGE});
  loop
    select pid into victim from pg_locks join pg_database on pg_database.oid = database
    where datname = current_database() and locktype = 'advisory' and objid = ${PASSAGE} and not granted limit 1;
    exit when victim is not null;
    perform pg_sleep(0.005);
  end loop;
  perform pg_terminate_backend(victim);
end $$`
/** Ends a session that made a change last, wherever it is. */
const KILL_ANYWHERE = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and query like '%audit_entry%'
  order by random() limit 1`
/** Changes that are answered for each session that is killed: on a slow machine, too, most of them are. */
const ANSWERED_EACH = 5

test('a change and its record are atomic: after any crash there is one entry for each change', async () => {
  const { organizationId: id } = await createAccount(db)
  const killer = openDatabase({ url, clock: slowClock, log: silentLog, max: 1 })
  for (const statement of HOLD) await killer.run(statement, [])
  let running = true
  let failed = 0
  let answered = 0
  const killing = (async () => {
    try {
      for (const [index, kill] of Array(3).fill([KILL_BETWEEN, KILL_ANYWHERE]).flat().entries()) {
        await waitFor('changes to be answered', () => answered >= (index + 1) * ANSWERED_EACH)
        await killer.run(kill, [], { deadlineMs: 10_000 })
      }
    } finally {
      running = false
    }
  })()
  await Promise.all(
    [one, other].map(async (process, which) => {
      for (let change = 0; running; change++) {
        const limit = 1_000 + change * 2 + which
        const { status } = await withToken(process.ask, 'PATCH', `/admin/v1/organizations/${id}`, { rate_limit: limit })
        if (status === 200) answered++
        else failed++
        await Bun.sleep(1)
      }
    }),
  )
  await killing
  // At least those that were about to write their entry.
  expect(failed).toBeGreaterThanOrEqual(3)
  const entries = await killer.run<{ old: number; new: number }>(
    `select (detail -> 'rate_limit' ->> 'from')::integer as old, (detail -> 'rate_limit' ->> 'to')::integer as new
     from audit_entry where organization_id = $1 and action = 'organization.update' order by id`,
    [id],
  )
  // What was answered is there; more may be, because a connection can die after the change.
  expect(entries.length).toBeGreaterThanOrEqual(answered)
  // Each entry begins where the one before it ended: none is missing, none is double.
  const ends = [100_000, ...entries.map((entry) => entry.new)]
  expect(entries.map((entry) => entry.old)).toEqual(ends.slice(0, -1))
  expect(new Set(ends).size).toBe(ends.length)
  const [row] = await killer.run<{ rate_limit: number }>('select rate_limit from organization where id = $1', [id])
  expect(row?.rate_limit).toBe(ends.at(-1) ?? 0)
  await killer.close()
}, 60_000)
