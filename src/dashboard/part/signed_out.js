import { html } from '../lib/view.js'

/**
 * Content for readers without a session.
 * @param {{ title: string, command: string, isEnded: boolean, children?: unknown }} props `isEnded`: this tab had a session
 */
export function SignedOut({ title, command, isEnded, children }) {
  return html`<div class="welcome">
    <h1>${title}</h1>
    ${isEnded && html`<p class="lead" role="alert">The session of this tab has ended: it was signed out or is too old, or another account signed in in this browser.</p>`}
    <p class="lead">There is no password here. A link that works once opens a session in this tab:</p>
    <pre class="command" tabindex="0"><code>${command}</code></pre>
    <p class="soft">Any user who can run it on the service's machine can sign in. ${children}</p>
    <p class="soft">A session belongs to one tab: a duplicated tab shares it; a new tab does not.</p>
  </div>`
}
