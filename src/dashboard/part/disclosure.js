import { html } from '../lib/view.js'
import { useRovingFocus } from './roving_focus.js'

/**
 * Content behind a title that opens it.
 * @param {{ title: unknown, class: string, mood?: string, children: unknown }} props `mood`: class of the title
 */
export function Disclosure({ title, mood, children, ...rest }) {
  const rove = useRovingFocus()
  return html`<details class=${rest.class}><summary ...${rove} class=${mood}>${title}</summary>${children}</details>`
}
