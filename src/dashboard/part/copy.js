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

/**
 * Notice with a new secret, which is shown only once.
 * @param {{ title: string, secret: string, label: string, onClose: () => void }} props
 */
export function NewSecret({ title, secret, label, onClose }) {
  return html`<div class="notice new-key" role="status">
    <p class="notice-title">${title}. It is shown only once.</p>
    <p class="key-line"><code>${secret}</code><${Copy} text=${secret} label=${label} /></p>
    <p class="notice-end"><button type="button" class="small" onClick=${onClose}>I have saved it</button></p>
  </div>`
}

/** @param {{ done: boolean }} props */
function CopyIcon({ done }) {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    ${done ? html`<path d="M3 8.5l3.2 3.2L13 4.8" />` : html`<path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" />`}
  </svg>`
}
