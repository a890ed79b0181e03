import { ask } from '../../lib/api.js'
import { chainName } from '../../lib/catalog.js'
import { dollars, significant } from '../../lib/decimal.js'
import { counted, dayText, momentText, pause } from '../../lib/time.js'
import { html, useEffect, useRef, useState } from '../../lib/view.js'
import { Chart } from '../../part/chart.js'
import { axisDollars, axisNumber } from '../../part/chart_scale.js'
import { Amount, Usd } from '../../part/figure.js'
import { Table } from '../../part/list.js'
import { Empty, Trouble, Waiting } from '../../part/notice.js'
import { Proof } from '../../part/proof.js'
import { queryOf } from '../plan.js'

/** How often an answer that is being prepared is asked for again. */
const TRIES_MAX = 40
const WAIT_MAX_SEC = 15
const EVENTS_MAX = 25

/**
 * Daily series and events of a wallet in one market, read when they are scrolled to.
 * @param {{ chainId: number, marketId: string, context: import('../page.js').Context }} props
 */
export function MarketHistory({ chainId, marketId, context }) {
  const { catalog, view } = context
  const ref = useRef(/** @type {HTMLElement | null} */ (null))
  const [near, setNear] = useState(false)
  useEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setNear(true)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const base = `v1/lending/aave-v3/position/${chainId}`
  const query = queryOf({ wallet: view.wallet, market_id: marketId })
  const snapshots = usePatient(near && catalog.snapshots ? `${base}/snapshots?${query}` : undefined, context.key)
  const events = usePatient(
    near && catalog.events ? `${base}/events?${query}&limit=${EVENTS_MAX}` : undefined,
    context.key,
  )
  if (!catalog.snapshots && !catalog.events) return null
  const list = events.answer?.ok ? events.answer.body.data : []
  return html`<div class="history" ref=${ref}>
    <h5>History</h5>
    ${catalog.snapshots && html`<${Outcome} asked=${snapshots} what="The daily series" render=${({ body, since }) => html`<${Series} rows=${body.data} since=${since} events=${list} />`} catalog=${catalog} />`}
    ${catalog.events && html`<${Outcome} asked=${events} what="The events" render=${({ body }) => html`<${Events} body=${body} chain=${chainName(catalog, chainId)} />`} catalog=${catalog} />`}
  </div>`
}

/**
 * Asks, and asks again while the answer is being prepared (503 with the progress in its message).
 * @param {string | undefined} path
 * @param {string} key
 */
function usePatient(path, key) {
  const [answer, setAnswer] = useState(/** @type {any} */ (undefined))
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (path === undefined) return undefined
    const leaving = new AbortController()
    const { signal } = leaving
    const run = async () => {
      for (let tries = 1; ; tries++) {
        const found = await ask(path, { key, signal })
        const unfinished = !found.ok && found.status === 503 && tries < TRIES_MAX
        setAnswer(unfinished ? { ...found, unfinished } : found)
        if (!unfinished) return
        await pause(Math.min(found.retryAfterSec ?? 1, WAIT_MAX_SEC) * 1000, signal)
      }
    }
    run().catch((error) => {
      if (!signal.aborted) throw error
    })
    return () => leaving.abort()
  }, [path, key, round])
  const again = () => {
    setAnswer(undefined)
    setRound(round + 1)
  }
  return { answer, again }
}

/** @param {{ asked: { answer: any, again: () => void }, what: string, render: (answer: any) => unknown, catalog: import('../../lib/catalog.js').Catalog }} props */
function Outcome({ asked: { answer, again }, what, render, catalog }) {
  if (answer === undefined) return html`<${Waiting}>${what}<//>`
  if (answer.unfinished) return html`<${Waiting}>${what}: ${answer.message}<//>`
  if (!answer.ok) return html`<${Trouble} failure=${answer} title=${`${what} could not be read`} onRetry=${again} />`
  return html`${render(answer)}<${Proof} answer=${answer} catalog=${catalog} />`
}

/** @param {{ rows: readonly any[], since: string | undefined, events: readonly any[] }} props */
function Series({ rows, since, events }) {
  if (rows.length === 0) {
    return html`<${Empty} title="No day is over yet">The series has one entry for each UTC midnight since the wallet first moved a token in this market.<//>`
  }
  const times = rows.map(({ timestamp }) => timestamp)
  const marks = events
    .toReversed()
    .map((event) => ({ time: event.timestamp, kind: event.type, text: eventText(event) }))
  const of = (/** @type {string} */ name) => rows.map((row) => row[name])
  return html`
    <${Chart} title="Net worth, collateral and debt" times=${times} marks=${marks} format=${dollars} axis=${axisDollars} series=${[
      { name: 'Net worth', kind: 'net', values: of('net_worth_usd') },
      { name: 'Collateral', kind: 'supply', values: of('collateral_usd') },
      { name: 'Debt', kind: 'debt', values: of('debt_usd') },
    ]} />
    <${Chart} title="Health factor" times=${times} height=${110} floor=${1} format=${(/** @type {string} */ text) => text} axis=${axisNumber} series=${[
      {
        name: 'Health factor',
        kind: 'health',
        values: of('health_factor').map((text) => (/^\d/.test(text) ? text : null)),
      },
    ]} />
    ${since && html`<p class="soft">The series begins on ${since}: this chain's endpoints keep no older state.</p>`}
    <details class="as-table"><summary>${counted(rows.length, 'day')} as a table</summary>
      <${Table} label="Daily series" columns=${['Midnight (UTC)', 'Net worth', 'Collateral', 'Debt', 'Health']}>
        ${rows.toReversed().map((row) => html`<tr><th scope="row">${dayText(row.timestamp)}</th><td>${dollars(row.net_worth_usd)}</td><td>${dollars(row.collateral_usd)}</td><td>${dollars(row.debt_usd)}</td><td>${row.health_factor}</td></tr>`)}
      <//>
    </details>`
}

/** @type {Record<string, string>} */
const VERBS = {
  supply: 'Supplied',
  withdraw: 'Withdrew',
  borrow: 'Borrowed',
  repay: 'Repaid',
  liquidation: 'Liquidated',
}

/** @param {any} event */
function eventText({ type, amount, asset }) {
  return `${VERBS[type] ?? type} ${significant(amount)} ${asset.symbol}`
}

/** @param {{ body: any, chain: string }} props */
function Events({ body: { data, pagination }, chain }) {
  if (data.length === 0) return html`<${Empty} title="No events">The wallet has moved nothing in this market.<//>`
  return html`<${Table} label="Events" class="events" columns=${['When', 'What', 'Amount', 'Value then']}>
      ${data.map(
        (event) => html`<tr title=${`${chain} block ${event.blockNumber}, ${event.transactionHash}`}>
          <td>${momentText(event.timestamp)}</td>
          <td><i class=${`key ${event.type}`} aria-hidden="true"></i>${VERBS[event.type] ?? event.type}</td>
          <td><${Amount} value=${event.amount} symbol=${event.asset.symbol} /> ${event.asset.symbol}</td>
          <td><${Usd} value=${event.amountUSD} /></td>
        </tr>`,
      )}
    <//>
    ${pagination.total > data.length && html`<p class="soft">The newest ${data.length} of ${pagination.total}.</p>`}`
}
