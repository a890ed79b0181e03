import { pluralize } from '../../lib/time.js'
import { html, useState } from '../../lib/view.js'
import { Dialog } from '../../part/confirm.js'
import { TriggerPanel } from './list.js'

/**
 * Figure that a bell watches.
 * @typedef {object} Watched
 * @property {number} chainId
 * @property {string} family name in the routes
 * @property {Readonly<Record<string, string>>} subject
 * @property {string} name display name
 * @property {'health_factor' | 'in_range'} figure
 * @property {string | boolean} value current value
 */

/** @type {Record<Watched['figure'], string>} */
const FIGURES = { health_factor: 'the health factor', in_range: 'the range' }

/**
 * Bell button beside a figure: opens the triggers on it and a form for a new one. Renders nothing if the service has no
 * triggers for the family, or if the view shows the past.
 * @param {{ watched: Watched, context: import('../page.js').Context }} props
 */
export function TriggerBell({ watched, context }) {
  const [open, setOpen] = useState(false)
  if (!context.catalog.watchable.includes(watched.family) || context.view.asOf !== '') return null
  const title = `Notify me about ${FIGURES[watched.figure]}`
  const { triggers, webhooks } = context.catalog.credits
  // Nothing is charged for a list that is empty.
  const price = `up to ${pluralize(triggers + webhooks, 'credit')}`
  return html`<button type="button" class="bell small" aria-haspopup="dialog" onClick=${() => setOpen(true)}>
      <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 2h-15zM10 21h4" /></svg><span>Notify me<span class="visually-hidden"> about ${FIGURES[watched.figure]}, ${watched.name},</span></span> <i>${price}</i>
    </button>
    ${
      open &&
      html`<${Dialog} title=${title} onClose=${() => setOpen(false)}>
        ${(/** @type {() => void} */ close) => html`<${TriggerPanel} watched=${watched} context=${context} />
          <p class="more"><button type="button" onClick=${close}>Close</button></p>`}
      <//>`
    }`
}
