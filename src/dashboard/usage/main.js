import { html, render } from '../lib/view.js'
import { UsagePage } from './page.js'

render(html`<${UsagePage} />`, /** @type {HTMLElement} */ (document.getElementById('app')))
