import { cleanEntry, describeWalletError, shortenAddress } from '../lib/address.js'
import { requestApi } from '../lib/api.js'
import { uniqueWallets, WALLETS_MAX } from '../lib/link.js'
import { clearWallets, getRecentWallets, KEY_FORM } from '../lib/session.js'
import { pluralize } from '../lib/time.js'
import { classes, html, useEffect, useId, useRef, useState } from '../lib/view.js'
import { Choice, Field } from '../part/field.js'
import { ADVICE } from '../part/notice.js'
import { resolveWallets } from './requests/name.js'

/**
 * Form for one or several wallets. Resolves ENS names before `onWallets` is called.
 * @param {{ apiKey: string, wallets: readonly string[], atTime: boolean, asOf: string, large: boolean, prices?: string, onWallets: (wallets: readonly string[], asOf: string) => void }} props `prices`: what a look costs, if no text around the form says it
 */
export function WalletForm({ apiKey, wallets, atTime, asOf, large, prices, onWallets }) {
  const [text, setText] = useState(wallets.join(' '))
  const [moment, setMoment] = useState(asOf)
  const [isMomentCut, setMomentCut] = useState(false)
  const [fault, setFault] = useState(/** @type {string | undefined} */ (undefined))
  const [recent, setRecent] = useState(getRecentWallets())
  const [isLoading, setLoading] = useState(false)
  const id = useId()
  const resolution = useRef(/** @type {AbortController | undefined} */ (undefined))
  // A name that answers after another wallet was chosen must not take the view.
  useEffect(() => () => resolution.current?.abort(), [apiKey, wallets.join(), asOf])
  useEffect(() => {
    setText(wallets.join(' '))
    setMoment(asOf)
    setMomentCut(false)
    setRecent(getRecentWallets())
  }, [wallets.join(), asOf])
  const input = useRef(/** @type {HTMLInputElement | null} */ (null))
  useEffect(() => {
    if (large) input.current?.focus()
  }, [])
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    const entries = uniqueWallets(text.split(/[\s,;]+/).map(cleanEntry))
    const failedCheck = findFormError(entries, isMomentCut)
    setFault(failedCheck)
    if (failedCheck !== undefined || isLoading) return
    setLoading(true)
    const controller = new AbortController()
    resolution.current = controller
    const results = await resolveWallets(entries, { key: apiKey, signal: controller.signal })
    setLoading(false)
    if (results === undefined) return
    const failed = results.find((each) => 'fault' in each)
    setFault(failed?.fault)
    if (failed === undefined) onWallets(uniqueWallets(results.flatMap(({ wallet = [] }) => wallet)), moment)
  }
  /** The value of a date of which a part is missing is empty, like that of no date. */
  const changeMoment = (event) => {
    const { value, validity } = event.target
    setMomentCut(validity.badInput)
    setMoment(value === '' ? '' : `${value}Z`)
  }
  const isPast = moment !== '' || isMomentCut
  const forget = () => {
    clearWallets()
    setRecent([])
  }
  return html`<form class=${classes('ask', large && 'large')} onSubmit=${submit} novalidate>
    <label for=${`${id}w`}>Wallet</label>
    <div class="ask-line">
      <input ref=${input} id=${`${id}w`} class="mono" name="wallet" value=${text} placeholder="0x…, name.eth or a Solana address" autocomplete="off" autocapitalize="off" spellcheck=${false}
        aria-invalid=${fault !== undefined} aria-describedby=${`${id}f`} onInput=${(event) => setText(event.target.value)} />
      <button type="submit" class="main" disabled=${isLoading}>Look</button>
    </div>
    <p class="fault" id=${`${id}f`} role="alert">${fault}</p>
    ${
      atTime &&
      html`<details class="as-of" open=${isPast}><summary>${isPast ? 'As of a past moment' : 'As of now'}</summary>
        <label for=${`${id}t`}>As of (UTC)</label>
        <input id=${`${id}t`} type="datetime-local" value=${moment.replace(/Z$/, '')} onInput=${changeMoment} />
        <p class="soft">Every figure is then read at the last block at or before that moment, but on Solana, which keeps no past. A name is looked up as it is now. Leave it empty for now.</p>
      </details>`
    }
    ${prices !== undefined && html`<details class="as-of"><summary>What it costs</summary><p class="soft">${prices}</p></details>`}
    ${
      large &&
      recent.length > 0 &&
      html`<p class="recent"><span class="soft">In this tab:</span>
        ${recent.map((each) => html`<button type="button" class="small mono" onClick=${() => onWallets([each], '')} aria-label=${`Look at ${each}`}>${shortenAddress(each)}</button>`)}
        <button type="button" class="small quiet" onClick=${forget}>Forget</button></p>`
    }
  </form>`
}

/**
 * Returns the error of a filled form; undefined if it can be sent.
 * @param {readonly string[]} entries wallets and names
 * @param {boolean} isMomentCut whether a part of the date is missing
 */
export function findFormError(entries, isMomentCut) {
  if (entries.length > WALLETS_MAX) return `These are ${entries.length}: up to ${WALLETS_MAX} are shown at once.`
  if (isMomentCut) return 'A part of the date or its time of day is missing: complete it, or clear it for now.'
  return entries.length === 0 ? describeWalletError('') : entries.map(describeWalletError).find(Boolean)
}

/** Error codes that make the key itself unusable, not only one request. */
const KEY_FAULTS = ['INVALID_API_KEY', 'ACCOUNT_SUSPENDED', 'ORGANIZATION_NOT_FOUND', 'NO_ANSWER']

/** Form for the API key. The key stays in this tab. @param {{ onKey: (key: string) => void }} props */
export function KeyForm({ onKey }) {
  const [text, setText] = useState('')
  const [fault, setFault] = useState(/** @type {string | undefined} */ (undefined))
  const id = useId()
  const [isLoading, setLoading] = useState(false)
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    const key = text.trim()
    if (!KEY_FORM.test(key)) return setFault('A key is ws_sk_ and 24 letters and digits: paste the whole of it.')
    setLoading(true)
    // The service checks the key before `limit`, and `limit=0` is invalid: the request is free of charge.
    const answer = await requestApi('v1/usage/logs?limit=0', { key })
    setLoading(false)
    if (answer.ok || !KEY_FAULTS.includes(answer.code)) return onKey(key)
    return setFault(`${answer.message}. ${ADVICE[answer.code]}`)
  }
  return html`<form class="ask large" onSubmit=${submit} novalidate>
    <label for=${id}>API key</label>
    <div class="ask-line">
      <input id=${id} class="mono" type="password" name="key" value=${text} placeholder="ws_sk_…" autocomplete="off" spellcheck=${false}
        aria-invalid=${fault !== undefined} aria-describedby=${`${id}f`} onInput=${(event) => setText(event.target.value)} />
      <button type="submit" class="main" disabled=${isLoading}>Use it</button>
    </div>
    <p class="fault" id=${`${id}f`} role="alert">${fault}</p>
    <p class="soft">It stays in this tab, goes to this service only, and is never part of a link.</p>
  </form>`
}

/**
 * Form for a position that no list contains: the service reads one obligation of it at a time.
 * @param {{ title: string, intro: string, credits: number, fields: readonly { name: string, label: string, form: RegExp, fault: string, options?: readonly (readonly [string, string])[] }[], onAdd: (values: Record<string, string>) => void }} props
 */
export function AddForm({ title, intro, credits, fields, onAdd }) {
  const [values, setValues] = useState(
    /** @type {Record<string, string>} */ (
      Object.fromEntries(fields.map(({ name, options }) => [name, options?.[0]?.[0] ?? '']))
    ),
  )
  const [fault, setFault] = useState(/** @type {string | undefined} */ (undefined))
  const id = useId()
  const set = (/** @type {string} */ name) => (/** @type {string} */ value) =>
    setValues({ ...values, [name]: value.trim() })
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    const failedCheck = fields.find(({ name, form }) => !form.test(values[name] ?? ''))
    setFault(failedCheck?.fault)
    if (failedCheck === undefined) onAdd(values)
  }
  return html`<form class="card add" onSubmit=${submit} novalidate aria-label=${title}>
    <p class="soft">${intro}</p>
    <div class="fields">
      ${fields.map(({ name, label, options }) =>
        options
          ? html`<${Choice} label=${label} value=${values[name]} options=${options} onValue=${set(name)} />`
          : html`<${Field} label=${label} class="mono" value=${values[name]} autocomplete="off" spellcheck=${false} aria-describedby=${`${id}f`} onValue=${set(name)} />`,
      )}
      <button type="submit">Add <i>${pluralize(credits, 'credit')}</i></button>
    </div>
    <p class="fault" id=${`${id}f`} role="alert">${fault}</p>
  </form>`
}
