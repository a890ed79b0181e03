import { hash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { answerNonEndpoint } from '../exchange/refusal.ts'
import { escapeHtml, htmlHeaders, renderHtml } from '../page/html.ts'
import { readForm } from '../request/body.ts'
import { isBodylessMethod } from '../request/target.ts'
import { type PreparedAnswer, successAnswer } from '../respond.ts'
import { isSecure, requireSameOrigin, type SessionCookie, setCookie } from './credential.ts'
import type { Plane, PlaneRequest } from './plane.ts'

/** A session for the browser. */
export interface OpenedSession {
  /** One for the cookie, and one that the tab stores for pages of this origin. */
  readonly secrets: { readonly cookie: string; readonly page: string }
  readonly cookie: SessionCookie
  readonly lifetimeSec: number
  /** Page to go to, relative to that of the login. */
  readonly page: string
}

/** The account that a link signs in to, and, if this port does not open it, the address that does. */
interface FoundLink {
  readonly account: 'the operator' | { readonly organization: string }
  readonly elsewhere: string | undefined
}

/** Access to login links by their secrets. */
export interface LoginLinks {
  /** Finds a link that still works, without using it up. */
  readonly find: (secret: string) => Promise<FoundLink | undefined>
  /** Uses a link up and opens its session; undefined if it does not work any more. */
  readonly open: (secret: string) => Promise<OpenedSession | undefined>
}

/** Path of links of `walletscope login`; the secret is the query. */
export const LOGIN_PATH = '/login'
const METHODS = 'GET, HEAD, POST, OPTIONS'
/** Form of a link's secret; other queries are not looked up. */
const PLAIN = /^\w{1,64}$/
/** Longest form: strangers send any number of them at once. */
const FORM_BYTES_MAX = 1_024

const STYLE = `:root { color-scheme: light dark; font: 1.0625rem/1.5 ui-sans-serif, system-ui, sans-serif;
  --paper: #f6f5f1; --card: #fffefb; --ink: #1a211f; --soft: #5a6461; --line: #dfdcd3; --accent: #0a6b5c; --on: #fff }
@media (prefers-color-scheme: dark) { :root { --paper: #101413; --card: #181d1c; --ink: #e8edeb; --soft: #a0aba7;
  --line: #2b3330; --accent: #5bd0b6; --on: #06231d } }
body { display: grid; min-height: 100vh; place-items: center; margin: 0; background: var(--paper); color: var(--ink) }
main { box-sizing: border-box; max-width: 26rem; width: calc(100% - 2rem); padding: 2rem; text-align: center;
  background: var(--card); border: 1px solid var(--line); border-radius: 14px }
h1 { margin: 0 0 1.25rem; font-size: 1.5rem; letter-spacing: -.01em }
p { margin: 1rem 0 0; color: var(--soft); overflow-wrap: anywhere }
form { margin-top: 1rem }
button { font: inherit; font-weight: 600; padding: .6em 2em; border: 0; border-radius: 10px; cursor: pointer;
  background: var(--accent); color: var(--on) }
button:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px }`

/** Prefix of the storage key of a session's second secret; the page's path follows, as services may share an origin. */
const STORED = 'walletscope.session:'
/** Stores the secret for its page, and replaces this page by it, so that "back" does not return here. */
const SCRIPT = `const { page, secret } = document.currentScript.dataset
sessionStorage.setItem('${STORED}' + new URL(page, location.href).pathname, secret)
location.replace(page)`

/** Allows no loads and no frames, and forms only to this service; the one style and script are allowed by hash. */
const PAGE_HEADERS = {
  ...htmlHeaders(
    [
      `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
      `script-src 'sha256-${hash('sha256', SCRIPT, 'base64')}'`,
    ],
    "'self'",
  ),
  // Hides the page's address, which holds the secret. `no-referrer` would also remove the form's origin.
  'referrer-policy': 'origin',
}

/**
 * Creates the page of a login link, which names the account and whose form uses the link up. The form is a second step,
 * because programs that open links in messages would use them up. A link of another port is refused before it is used.
 */
export function createLoginPlane(options: {
  readonly links: LoginLinks
  readonly publicUrl: string | undefined
  readonly clock: Clock
}): Plane {
  const { links, publicUrl, clock } = options

  async function showLink(secret: string): Promise<PreparedAnswer> {
    if (secret === '') return renderPage(200, EXPLAINED)
    const found = PLAIN.test(secret) ? await links.find(secret) : undefined
    if (found === undefined) return renderPage(401, USED)
    return found.elsewhere === undefined
      ? renderPage(200, renderForm(secret, found))
      : renderPage(403, renderElsewhere(found.elsewhere))
  }

  async function signIn({ request }: PlaneRequest): Promise<PreparedAnswer> {
    requireSameOrigin(request, publicUrl)
    const secret = (await readForm(request, clock, FORM_BYTES_MAX)).get('link') ?? ''
    const found = PLAIN.test(secret) ? await links.find(secret) : undefined
    if (found?.elsewhere !== undefined) return renderPage(403, renderElsewhere(found.elsewhere))
    const opened = found && (await links.open(secret))
    if (opened === undefined) return renderPage(401, USED)
    const { cookie, secrets, lifetimeSec } = opened
    const secure = isSecure(request, publicUrl)
    const cookieHeader = setCookie(cookie, { value: secrets.cookie, secure, maxAgeSec: lifetimeSec })
    const answer = renderPage(200, renderSignedIn(opened))
    return { ...answer, headers: { ...answer.headers, 'set-cookie': cookieHeader } }
  }

  async function work(planeRequest: PlaneRequest): Promise<PreparedAnswer> {
    const { method, path, query, fault } = planeRequest
    if (fault !== undefined) throw fault
    if (path !== LOGIN_PATH) return answerNonEndpoint({ kind: 'unknown' }, method)
    if (method === 'POST') return signIn(planeRequest)
    if (isBodylessMethod(method)) return showLink(query)
    return answerNonEndpoint({ kind: 'other_method', allow: METHODS }, method)
  }

  return {
    prefix: LOGIN_PATH,
    takesIdempotencyKey: false,
    endpoints: ['GET', 'POST'].map((method) => ({ method, path: LOGIN_PATH })),
    find(planeRequest) {
      const { method, path } = planeRequest
      const isKnown = path === LOGIN_PATH && METHODS.split(', ').includes(method)
      return { route: isKnown ? `${method} ${LOGIN_PATH}` : 'unknown', answer: () => work(planeRequest) }
    },
  }
}

const ANOTHER = '<p>Another one: <code>walletscope login</code>, with <code>--org</code> for an organization.</p>'
const EXPLAINED = `<h1>Sign in</h1><p>This page needs a link.</p>${ANOTHER}`
const USED = `<h1>This link does not work</h1><p>It has been used, or it is too old.</p>${ANOTHER}`

/** Renders the form; `secret` must match `PLAIN`, as it is not escaped. */
function renderForm(secret: string, { account }: FoundLink): string {
  const name = account === 'the operator' ? account : `the organization <bdi>${escapeHtml(account.organization)}</bdi>`
  return `<h1>walletscope</h1>
<p>This link signs you in as ${name}. If you do not expect that, leave.</p>
<form method="post" action="login"><input type="hidden" name="link" value="${secret}">
<button>Sign in</button></form><p>The link works once.</p>`
}

/** Refuses a link without using it up; `address` is the operator's own setting. */
function renderElsewhere(address: string): string {
  return `<h1>Another address</h1><p>This link still works, but not here. Open it at <code>${escapeHtml(address)}</code>.</p>`
}

/** Fallback for browsers without scripts or session storage; others are redirected first. */
function renderSignedIn({ page, secrets }: OpenedSession): string {
  return `<h1>Sign in</h1><p>This needs a browser that runs scripts and has session storage.</p>
<script data-page="${page}" data-secret="${secrets.page}">${SCRIPT}</script>`
}

function renderPage(status: number, content: string): PreparedAnswer {
  const body = renderHtml({
    head: `<title>Sign in: walletscope</title>\n<style>${STYLE}</style>`,
    body: `<main>${content}</main>`,
  })
  return { ...successAnswer(body, PAGE_HEADERS), status }
}
