import { html, render } from '../lib/view.js'
import { OperatorPage } from './page.js'

render(html`<${OperatorPage} />`, /** @type {HTMLElement} */ (document.getElementById('app')))
