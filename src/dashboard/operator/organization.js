import { formatThousands } from '../lib/decimal.js'
import { useAnswer, useSubmission } from '../lib/hooks.js'
import { formatMoment } from '../lib/time.js'
import { classes, html, useState } from '../lib/view.js'
import { Confirm } from '../part/confirm.js'
import { Copy } from '../part/copy.js'
import { DefinitionList } from '../part/figure.js'
import { Keys } from '../part/keys.js'
import { ChangeError, ErrorNotice, LoadingNotice } from '../part/notice.js'
import { Audit } from './audit.js'
import { BASE } from './base.js'
import { Grants } from './grants.js'
import { LimitsForm } from './limits_form.js'

/** @type {Record<string, { title: string, text: string, verb: string }>} */
const STEPS = {
  suspend: {
    title: 'Suspend',
    verb: 'Suspend it',
    text: 'From the next request on, every call of this organization is refused with 403 ACCOUNT_SUSPENDED, on every process. Its keys and credits stay.',
  },
  restore: { title: 'Restore', verb: 'Restore it', text: 'Its keys and credits work again from the next request on.' },
  delete: {
    title: 'Delete',
    verb: 'Delete it for good',
    text: 'Its keys stop working permanently. The log and the audit list stay. This cannot be taken back.',
  },
}

/**
 * One organization: limits, state, credits and keys.
 * @param {{ id: string }} props
 */
export function Organization({ id }) {
  const path = `${BASE}/organizations/${encodeURIComponent(id)}`
  /** @type {import('../lib/hooks.js').RequestState<{ data: import('../lib/shapes.d.ts').OrganizationRow }>} */
  const { answer, again } = useAnswer(path)
  const [step, setStep] = useState(/** @type {string | undefined} */ (undefined))
  if (answer === undefined) return html`<${LoadingNotice}>Reading the organization<//>`
  if (!answer.ok)
    return html`<p><a href="#organizations">All organizations</a></p><${ErrorNotice} failure=${answer} onRetry=${again} />`
  const organization = answer.body.data
  const suspended = organization.suspended_at !== null
  const done = () => {
    setStep(undefined)
    if (step === 'delete') location.hash = 'organizations'
    else again()
  }
  return html`
    <p class="crumbs"><a href="#organizations">All organizations</a></p>
    <div class="family-head"><h2>${organization.name}</h2><span class=${classes('badge', suspended ? 'warn' : 'good')}>${organization.suspended_at === null ? 'active' : `suspended since ${formatMoment(organization.suspended_at)}`}</span></div>
    <div class="columns">
      <div class="card">
        <h3>Credits</h3>
        <p class="total-value">${formatThousands(organization.balance)}</p>
        <${DefinitionList} rows=${[['Granted', formatThousands(organization.granted)], ['Spent', formatThousands(String(BigInt(organization.granted) - BigInt(organization.balance)))], ['Id', html`<code>${id}</code><${Copy} text=${id} label="Copy the id" />`]]} />
      </div>
      <div class="card">
        <h3>Name and limits</h3>
        <${LimitsForm} key=${`${organization.name} ${organization.rate_limit} ${organization.trigger_limit}`} path=${path} method="PATCH" organization=${organization} label="Name" verb="Save" refused="It was not saved" onDone=${again} />
        <p class="more">
          <button type="button" onClick=${() => setStep(suspended ? 'restore' : 'suspend')}>${suspended ? 'Restore' : 'Suspend'}</button>
          <button type="button" class="danger" onClick=${() => setStep('delete')}>Delete</button>
        </p>
        <${LoginLink} id=${id} />
      </div>
    </div>
    <section class="family" aria-label="Grants"><h2>Grants</h2><div class="card"><${Grants} path=${`${path}/grants`} onDone=${again} /></div></section>
    <section class="family" aria-label="Keys"><h2>Keys</h2><div class="card"><${Keys} base=${`${path}/keys`} suspended=${suspended} /></div></section>
    <${Audit} key=${`${organization.balance} ${organization.suspended_at}`} organizationId=${id} />
    ${
      step &&
      html`<${Confirm} title=${`${STEPS[step]?.title} "${organization.name}"?`} verb=${STEPS[step]?.verb ?? ''} onClose=${() => setStep(undefined)} onDone=${done}
        request=${step === 'delete' ? { path, method: 'DELETE' } : { path: `${path}/${step}`, method: 'POST' }}><p>${STEPS[step]?.text}</p><//>`
    }`
}

/** Button that creates a one-time login link of the organization. @param {{ id: string }} props */
function LoginLink({ id }) {
  const [answer, setAnswer] = useState(
    /** @type {import('../lib/api.js').Answer<{ data: import('../lib/shapes.d.ts').LoginLink }> | undefined} */ (
      undefined
    ),
  )
  const { failure, submit } = useSubmission()
  const createLink = () =>
    submit({ path: `${BASE}/login-links`, method: 'POST', body: { organization_id: id } }, setAnswer)
  const { path = '', url = null } = answer?.body.data ?? {}
  const link = url ?? new URL(path.replace(/^\//, ''), document.baseURI).href
  return html`<div>
    <button type="button" onClick=${createLink}>Create a login link</button>
    ${answer && html`<p class="key-line" role="status"><code>${link}</code><${Copy} text=${link} label="Copy the link" /></p><p class="soft">It works once, until ${formatMoment(answer.body.data.expires_at)}.</p>`}
    ${failure && html`<${ChangeError} failure=${failure} refused="The link was not created" />`}
  </div>`
}
