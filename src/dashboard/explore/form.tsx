import type { TargetedEvent } from 'preact'
import { cleanEntry, describeWalletError, shortenAddress } from '../lib/address.ts'
import { requestApi } from '../lib/api.ts'
import { uniqueWallets, WALLETS_MAX } from '../lib/link.ts'
import { clearWallets, getRecentWallets, KEY_FORM } from '../lib/session.ts'
import { parseMoment, pluralize } from '../lib/time.ts'
import { classes, useEffect, useId, useRef, useState } from '../lib/view.ts'
import { Choice, Field } from '../part/field.tsx'
import { ADVICE } from '../part/notice.tsx'
import { resolveWallets } from './requests/name.ts'
import { formatQuery } from './requests/plan.ts'

interface WalletFormProps {
  readonly apiKey: string
  readonly wallets: readonly string[]
  readonly atTime: boolean
  readonly asOf: string
  /** Unix seconds by the service's clock. */
  readonly getNowSec: () => number
  readonly large: boolean
  /** What a look costs, if no text around the form says it. */
  readonly prices?: string | undefined
  readonly onWallets: (wallets: readonly string[], asOf: string) => void
}

/** Form for one or several wallets. Resolves ENS names before `onWallets` is called. */
export function WalletForm({ apiKey, wallets, atTime, asOf, getNowSec, large, prices, onWallets }: WalletFormProps) {
  const [text, setText] = useState(wallets.join(' '))
  const [moment, setMoment] = useState(asOf)
  const [isMomentCut, setMomentCut] = useState(false)
  // What a link names wrongly is said before anything is asked.
  const [fault, setFault] = useState(wallets.length === 0 ? undefined : findFormError(wallets, false))
  const [recent, setRecent] = useState(getRecentWallets())
  const [isLoading, setLoading] = useState(false)
  const id = useId()
  const resolution = useRef<AbortController | undefined>(undefined)
  // A name that answers after another wallet was chosen must not take the view.
  useEffect(() => () => resolution.current?.abort(), [apiKey, wallets.join(), asOf])
  useEffect(() => {
    setText(wallets.join(' '))
    setMoment(asOf)
    setMomentCut(false)
    setRecent(getRecentWallets())
  }, [wallets.join(), asOf])
  const input = useRef<HTMLInputElement | null>(null)
  useEffect(() => {
    if (large) input.current?.focus()
  }, [])
  const submit = async (event: Event) => {
    event.preventDefault()
    const entries = uniqueWallets(text.split(/[\s,;]+/).map(cleanEntry))
    const failedCheck = findFormError(entries, isMomentCut, { moment, nowSec: getNowSec() })
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
  const changeMoment = (event: TargetedEvent<HTMLInputElement>) => {
    const { value, validity } = event.currentTarget
    setMomentCut(validity.badInput)
    setMoment(value === '' ? '' : `${value}Z`)
  }
  const isPast = moment !== '' || isMomentCut
  const forget = () => {
    clearWallets()
    setRecent([])
  }
  return (
    <form class={classes('ask', large && 'large')} onSubmit={submit} novalidate>
      <label for={`${id}w`}>Wallet</label>
      <div class="ask-line">
        <input
          ref={input}
          id={`${id}w`}
          class="mono"
          name="wallet"
          value={text}
          placeholder="0x…, name.eth or a Solana address"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-invalid={fault !== undefined}
          aria-describedby={`${id}f`}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="main" disabled={isLoading}>
          Look
        </button>
      </div>
      <p class="fault" id={`${id}f`} role="alert">
        {fault}
      </p>
      <div class="ask-more">
        {atTime && (
          <details class="as-of" open={isPast}>
            <summary>{isPast ? 'As of a past moment' : 'As of now'}</summary>
            <label for={`${id}t`}>As of (UTC)</label>
            <input id={`${id}t`} type="datetime-local" value={moment.replace(/Z$/, '')} onInput={changeMoment} />
            <p class="soft">
              Every figure is then read at the last block at or before that moment, but on Solana, which keeps no past.
              A name is looked up as it is now. Leave it empty for now.
            </p>
          </details>
        )}
        {prices !== undefined && (
          <details class="as-of">
            <summary>What it costs</summary>
            <p class="soft">{prices}</p>
          </details>
        )}
      </div>
      {large && recent.length > 0 && (
        <p class="recent">
          <span class="soft">In this tab:</span>
          {recent.map((each) => (
            <button
              type="button"
              class="small mono"
              onClick={() => onWallets([each], '')}
              aria-label={`Look at ${each}`}
            >
              {shortenAddress(each)}
            </button>
          ))}
          <button type="button" class="small quiet" onClick={forget}>
            Forget
          </button>
        </p>
      )}
    </form>
  )
}

/**
 * Returns the error of a filled form; undefined if it can be sent. `entries`: wallets and names. `isMomentCut`: whether
 * a part of the date is missing. `moment`: ISO time, empty for now. `nowSec`: Unix seconds.
 */
export function findFormError(entries: readonly string[], isMomentCut: boolean, { moment = '', nowSec = 0 } = {}) {
  if (entries.length > WALLETS_MAX) return `These are ${entries.length}: up to ${WALLETS_MAX} are shown at once.`
  if (isMomentCut) return 'A part of the date or its time of day is missing: complete it, or clear it for now.'
  if (moment !== '' && parseMoment(moment) > nowSec)
    return 'This moment is still to come: choose one that has passed, or clear it for now.'
  return entries.length === 0 ? describeWalletError('') : entries.map(describeWalletError).find(Boolean)
}

/** Error codes that make the key itself unusable, not only one request. */
const KEY_FAULTS = ['INVALID_API_KEY', 'ACCOUNT_SUSPENDED', 'ORGANIZATION_NOT_FOUND', 'NO_ANSWER']
/** Above every number of triggers. */
const PAGE_MAX = 1_000_000_000

/** Asks the service about a key, free of charge. A key that it recognizes gets a success or an error of the request alone. */
async function testKey(key: string) {
  // A page of triggers without any costs nothing.
  const answer = await requestApi(`v1/triggers?${formatQuery({ page: PAGE_MAX, limit: 1 })}`, { key })
  if (answer.ok || answer.code !== 'NOT_FOUND') return answer
  // A service without triggers says so to unknown keys too. It checks a key before `limit`, and 0 is invalid.
  return requestApi(`v1/usage/logs?${formatQuery({ limit: 0 })}`, { key })
}

/** Form for the API key. The key stays in this tab. */
export function KeyForm({ onKey }: { onKey: (key: string) => void }) {
  const [text, setText] = useState('')
  const [fault, setFault] = useState<string | undefined>(undefined)
  const id = useId()
  const [isLoading, setLoading] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    const key = text.trim()
    if (!KEY_FORM.test(key)) return setFault('A key is ws_sk_ and 24 letters and digits: paste the whole of it.')
    setLoading(true)
    const answer = await testKey(key)
    setLoading(false)
    if (answer.ok || !KEY_FAULTS.includes(answer.code)) return onKey(key)
    return setFault(`${answer.message}. ${ADVICE[answer.code]}`)
  }
  return (
    <form class="ask large" onSubmit={submit} novalidate>
      <label for={id}>API key</label>
      <div class="ask-line">
        <input
          id={id}
          class="mono"
          type="password"
          name="key"
          value={text}
          placeholder="ws_sk_…"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={fault !== undefined}
          aria-describedby={`${id}f`}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit" class="main" disabled={isLoading}>
          Use it
        </button>
      </div>
      <p class="fault" id={`${id}f`} role="alert">
        {fault}
      </p>
      <p class="soft">It stays in this tab, goes to this service only, and is never part of a link.</p>
    </form>
  )
}

interface AddFormProps {
  readonly title: string
  readonly intro: string
  readonly credits: number
  readonly fields: readonly {
    name: string
    label: string
    form: RegExp
    fault: string
    options?: readonly (readonly [string, string])[]
  }[]
  readonly onAdd: (values: Record<string, string>) => void
}

/** Form for a position that no list contains: the service reads one obligation of it at a time. */
export function AddForm({ title, intro, credits, fields, onAdd }: AddFormProps) {
  const [values, setValues] = useState<Record<string, string>>(
    Object.fromEntries(fields.map(({ name, options }) => [name, options?.[0]?.[0] ?? ''])),
  )
  const [fault, setFault] = useState<string | undefined>(undefined)
  const id = useId()
  const set = (name: string) => (value: string) => setValues({ ...values, [name]: value.trim() })
  const submit = (event: Event) => {
    event.preventDefault()
    const failedCheck = fields.find(({ name, form }) => !form.test(values[name] ?? ''))
    setFault(failedCheck?.fault)
    if (failedCheck === undefined) onAdd(values)
  }
  return (
    <form class="card add" onSubmit={submit} novalidate aria-label={title}>
      <p class="soft">{intro}</p>
      <div class="fields">
        {fields.map(({ name, label, options }) =>
          options ? (
            <Choice label={label} value={values[name]} options={options} onValue={set(name)} />
          ) : (
            <Field
              label={label}
              class="mono"
              value={values[name] ?? ''}
              autocomplete="off"
              spellcheck={false}
              aria-describedby={`${id}f`}
              onValue={set(name)}
            />
          ),
        )}
        <button type="submit">
          Add <i>{pluralize(credits, 'credit')}</i>
        </button>
      </div>
      <p class="fault" id={`${id}f`} role="alert">
        {fault}
      </p>
    </form>
  )
}
