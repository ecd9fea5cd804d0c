// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import '../ui/base.css';
import './console.css';
import { Console } from './console';

render(<Console />, document.getElementById('console')!);
