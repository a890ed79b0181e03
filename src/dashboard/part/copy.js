import { html, useEffect, useState } from '../lib/view.js'

const MESSAGE_MS = 1_500

/**
 * Button that copies `text` and announces the outcome.
 * @param {{ text: string, label: string, class?: string, children?: unknown }} props
 */
export function Copy({ text, label, children, ...rest }) {
  const [state, copy] = useCopy(text)
  return html`<button type="button" class=${rest.class ?? 'copy'} onClick=${copy} aria-label=${label}>
    ${children ?? html`<${CopyIcon} done=${state === 'done'} />`}
    <span class=${state === 'failed' ? 'bad' : 'visually-hidden'} role="status">${MESSAGES[state]}</span>
  </button>`
}

/** @type {Record<'idle' | 'done' | 'failed', string>} */
const MESSAGES = { idle: '', done: 'Copied', failed: 'Cannot copy here: select the text' }

/**
 * @param {string} text
 * @returns {['idle' | 'done' | 'failed', () => void]}
 */
export function useCopy(text) {
  const [state, setState] = useState(/** @type {'idle' | 'done' | 'failed'} */ ('idle'))
  useEffect(() => {
    // What failed stays: a secret that is thought to be copied is lost.
    if (state !== 'done') return undefined
    const timer = setTimeout(() => setState('idle'), MESSAGE_MS)
    return () => clearTimeout(timer)
  }, [state])
  const copy = () => {
    // `navigator.clipboard` is undefined on a page over plain HTTP from another machine.
    const copying = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    copying.then(
      () => setState('done'),
      () => setState('failed'),
    )
  }
  return [state, copy]
}

/** @param {{ done: boolean }} props */
function CopyIcon({ done }) {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    ${done ? html`<path d="M3 8.5l3.2 3.2L13 4.8" />` : html`<path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" />`}
  </svg>`
}
