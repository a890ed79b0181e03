import { html } from '../lib/view.js'
import { useRove } from './rove.js'

/**
 * More of something, behind its title.
 * @param {{ title: unknown, class: string, mood?: string, children: unknown }} props `mood`: class of the title
 */
export function Fold({ title, mood, children, ...rest }) {
  const rove = useRove()
  return html`<details class=${rest.class}><summary ...${rove} class=${mood}>${title}</summary>${children}</details>`
}
