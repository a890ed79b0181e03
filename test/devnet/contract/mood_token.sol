// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// A token that is also what pays it out, with a mood that decides what happens when it moves.
contract MoodToken {
    enum Mood {
        Plain,
        Loops,
        RevertsMebibyte,
        ReturnsMebibyte,
        Reenters,
        Lies,
        Refuses,
        Keeps,
        Shorts
    }

    string public constant name = 'Mood';
    string public constant symbol = 'MOOD';
    uint8 public constant decimals = 18;
    mapping(address => uint256) public balances;
    /// What can be paid at most.
    uint256 public limit = type(uint256).max;
    Mood public mood;
    mapping(address => bool) public isBanned;
    address private _accomplice;
    bytes private _script;

    function setMood(Mood mood_) external {
        mood = mood_;
    }

    function setLimit(uint256 limit_) external {
        limit = limit_;
    }

    /// What is called when it moves and re-enters.
    function setScript(address accomplice, bytes calldata script) external {
        _accomplice = accomplice;
        _script = script;
    }

    function ban(address owner) external {
        isBanned[owner] = true;
    }

    function mint(address to, uint256 amount) external {
        balances[to] += amount;
    }

    function balanceOf(address owner) external view returns (uint256) {
        return mood == Mood.Lies ? balances[owner] + 1e30 : balances[owner];
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        require(!isBanned[msg.sender] && !isBanned[to], 'Banned');
        balances[msg.sender] -= amount;
        balances[to] += mood == Mood.Shorts ? amount - 1 : amount;
        return true;
    }

    /// Pays the sender.
    function pay(uint256 amount) external {
        require(amount <= limit, 'Too much');
        if (mood == Mood.Loops) while (true) {}
        if (mood == Mood.Refuses) revert('Refused');
        if (mood == Mood.RevertsMebibyte || mood == Mood.ReturnsMebibyte) {
            bool isRevert = mood == Mood.RevertsMebibyte;
            assembly {
                if isRevert {
                    revert(0, 0x100000)
                }
                return(0, 0x100000)
            }
        }
        if (mood == Mood.Reenters) {
            (bool ok, bytes memory answer) = _accomplice.call(_script);
            require(ok && answer.length == 0, 'The wallet answered');
        }
        if (mood != Mood.Keeps) balances[msg.sender] += amount;
    }

    /// Takes it back from the sender.
    function settle(uint256 amount) external {
        require(!isBanned[msg.sender], 'Banned');
        require(balances[msg.sender] >= amount, 'Too little');
        balances[msg.sender] -= amount;
    }

    function self() external view returns (address) {
        return address(this);
    }
}
