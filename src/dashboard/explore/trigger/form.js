import { requestApi } from '../../lib/api.js'
import { pluralize } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { Choice, Field, Form } from '../../part/field.js'

/** Health factors that are worth a message, and the least, at which liquidation begins. */
const LEVELS = ['1.5', '1.25', '1.1', '1.05', '1.02']
const LEAST = '1'

/** The first level that is not reached yet. @param {string} healthFactor `MAX` without a debt */
function levelBelow(healthFactor) {
  const now = Number(healthFactor)
  return LEVELS.find((level) => Number.isNaN(now) || Number(level) < now) ?? LEAST
}

/**
 * Makes a trigger.
 * @param {{ watched: import('./bell.js').Watched, places: readonly (readonly [string, string])[], apiKey: string, credits: number, onMade: () => void }} props
 */
export function TriggerForm({ watched, places, apiKey, credits, onMade }) {
  const { chainId, family, subject, figure, value } = watched
  const isRange = figure === 'in_range'
  const [level, setLevel] = useState(levelBelow(String(value)))
  // What it is now is not news.
  const [side, setSide] = useState(String(value === false))
  const [place, setPlace] = useState('')
  const body = {
    chain_id: chainId,
    family,
    subject,
    when: isRange ? { figure, is: side === 'true' } : { figure, below: level.trim() },
    webhook_id: place === '' ? null : place,
  }
  const send = () => requestApi('v1/triggers', { key: apiKey, method: 'POST', body })
  return html`<${Form} send=${send} onDone=${onMade} refused="The trigger was not made">
    ${
      isRange
        ? html`<${Choice} label="When it" value=${side} options=${[
            ['false', 'leaves its range'],
            ['true', 'is back in its range'],
          ]} onValue=${setSide} />`
        : html`<${Field} label="Falls below" place="narrow" value=${level} inputmode="decimal" required autocomplete="off" onValue=${setLevel} />`
    }
    <${Choice} label="Send it to" value=${place} options=${places} onValue=${setPlace} />
    <button type="submit" class="main">Tell me</button>
    <p class="soft full">${pluralize(credits, 'credit')} an hour. The feed is GET /v1/events; webhooks are made on the Usage page.</p>
  <//>`
}
