import { signOut } from '../lib/account.js'
import { useAnswer, useHash, useSessionEnd } from '../lib/hooks.js'
import { classes, html, useState } from '../lib/view.js'
import { LoadedAnswer } from '../part/notice.js'
import { Shell } from '../part/shell.js'
import { SignedOut } from '../part/signed_out.js'
import { Audit } from './audit.js'
import { BASE } from './base.js'
import { Chains } from './chains.js'
import { Histories } from './histories.js'
import { Organization } from './organization.js'
import { Organizations } from './organizations.js'
import { Switches } from './switches.js'
import { Triggers } from './triggers.js'

/** @type {readonly (readonly [string, string])[]} */
const TABS = [
  ['organizations', 'Organizations'],
  ['switches', 'Switches'],
  ['chains', 'Chains'],
  ['triggers', 'Triggers'],
  ['audit', 'Audit'],
]

/** The operator's page. The fragment of the address selects the tab or the organization. */
export function OperatorPage() {
  const request = useAnswer(`${BASE}/session`)
  const { answer: session, again } = request
  const [fragment, setFragment] = useState(location.hash.slice(1))
  useHash(() => setFragment(location.hash.slice(1)))
  const isEnded = useSessionEnd()
  const leave = () => signOut(BASE).then(again)
  const aside =
    session?.ok &&
    !isEnded &&
    html`<span class="key-state"><b>Operator</b><button type="button" class="small" onClick=${leave}>Sign out</button></span>`
  return html`<${Shell} page="Operator" pages=${[['Operator', 'operator']]} aside=${aside}>${drawContent()}<//>`

  function drawContent() {
    if (isEnded)
      return html`<${SignedOut} isEnded=${session?.ok === true} title="The operator's page" command="walletscope login" />`
    return html`<${LoadedAnswer} request=${request} waiting="Loading the session">${drawTabs}<//>`
  }

  function drawTabs() {
    const [tab = '', id] = fragment.split('/')
    const here = TABS.some(([name]) => name === tab) ? tab : 'organizations'
    return html`
      <h1 class="page-title">Operator</h1>
      <nav class="tabs" aria-label="Parts">${TABS.map(([name, text]) => html`<a href=${`#${name}`} class=${classes(name === here && 'here')} aria-current=${name === here ? 'page' : undefined}>${text}</a>`)}</nav>
      ${here === 'organizations' && (id ? html`<${Organization} key=${id} id=${id} />` : html`<${Organizations} />`)}
      ${here === 'switches' && html`<${Switches} />`}
      ${here === 'chains' && html`<${Chains} /><${Histories} />`}
      ${here === 'triggers' && html`<${Triggers} />`}
      ${here === 'audit' && html`<${Audit} />`}
    `
  }
}
