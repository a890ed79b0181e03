import { useSubmission } from '../lib/hooks.js'
import { html, useId } from '../lib/view.js'
import { ChangeError } from './notice.js'

/**
 * Form that sends one request; its failure is shown below its fields.
 * @param {{ request: import('../lib/submission.js').ChangeRequest, send?: Parameters<typeof useSubmission>[0], onDone: (answer: import('../lib/api.js').Answer) => void, refused: string, note?: unknown, children: unknown }} props `send`: sends to the plane by default; `note`: shown below the fields instead of a failure
 */
export function Form({ request, send, onDone, refused, note, children }) {
  const { failure, isBusy, submit } = useSubmission(send)
  const onSubmit = (/** @type {Event} */ event) => {
    event.preventDefault()
    return submit(request, onDone)
  }
  return html`<form class="fields" onSubmit=${onSubmit} aria-busy=${isBusy}>
    ${children}
    ${failure ? html`<div class="full"><${ChangeError} failure=${failure} refused=${refused} /></div>` : note}
  </form>`
}

/**
 * Input with its label; additional properties go to the input.
 * @param {{ label: string, place?: string, late?: boolean, onValue: (value: string) => void, [name: string]: unknown }} props `place`: class of the wrapper; `late`: call `onValue` on change instead of on every key
 */
export function Field({ label, place, late = false, onValue, ...input }) {
  const id = useId()
  const notify = (event) => onValue(event.target.value)
  return html`<p class=${place}><label for=${id}>${label}</label><input id=${id} ...${input} ...${late ? { onChange: notify } : { onInput: notify }} /></p>`
}

/**
 * Select with its label, and a hint behind it.
 * @param {{ label: string, place?: string, hint?: string, value: string | undefined, options: readonly (string | readonly [string, string])[], onValue: (value: string) => void }} props `options`: values, or pairs of value and text
 */
export function Choice({ label, place, value, options, hint, onValue }) {
  const id = useId()
  return html`<p class=${place}><label for=${id}>${label}</label>
    <select id=${id} value=${value} onChange=${(event) => onValue(event.target.value)}>
      ${options.map((each) => (typeof each === 'string' ? html`<option value=${each}>${each}</option>` : html`<option value=${each[0]}>${each[1]}</option>`))}
    </select>${hint && html` <span class="soft">${hint}</span>`}</p>`
}

/**
 * Slider with its label and its value as text.
 * @param {{ label: string, min: number, max: number, step: number, value: number, text: string, onValue: (value: number) => void }} props
 */
export function Slider({ label, min, max, step, value, text, onValue }) {
  const id = useId()
  return html`<p class="slider">
    <label for=${id}>${label}</label>
    <output for=${id}>${text}</output>
    <input type="range" id=${id} min=${min} max=${max} step=${step} value=${value} aria-valuetext=${text} onInput=${(event) => onValue(Number(event.target.value))} />
  </p>`
}
